// XPMEM: maps memory of other processes into this one. Uses the module's device file and the commands of its
// public header (hpc/xpmem, include/xpmem.h); without the device, none of this is used. single_copy/xpmem.h
// has the logic; this interface hides the device, so that tests can replace it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hearth::os {

class XpmemDevice {
 public:
  virtual ~XpmemDevice() = default;
  /// Exposes all memory of this process to processes of this user. Returns the segment id by which they open
  /// it; 0 with errno on failure.
  virtual int64_t publish() = 0;
  /// Opens a segment that another process has published. Returns the access id; 0 with errno on failure.
  virtual int64_t open(int64_t segment) = 0;
  /// Maps a range of that memory, given by its owner's addresses; nullptr with errno. An access to addresses
  /// that the owner has not mapped faults. Pre: whole pages.
  virtual std::byte* attach(int64_t access, uint64_t address, size_t bytes) = 0;
  virtual void detach(std::byte* address) = 0;
};

constexpr const char* kXpmemDevice = "/dev/xpmem";
/// nullptr if there is no device, or no permission.
std::unique_ptr<XpmemDevice> open_xpmem(const char* path = kXpmemDevice);

}  // namespace hearth::os
