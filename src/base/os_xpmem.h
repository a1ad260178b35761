// Memory of other processes in the addresses of this one, by the XPMEM module of the kernel: its device file
// and the commands that its public header (hpc/xpmem, include/xpmem.h) declares. Where there is no such
// device nothing of this is used. What is logic about it is in single_copy/xpmem.h; the device is behind this
// small interface, so that tests have one of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hearth::os {

class XpmemDevice {
 public:
  virtual ~XpmemDevice() = default;
  /// Lets processes of this user reach all memory of this one: the number of the segment by which they ask
  /// for it; 0 with errno when refused.
  virtual int64_t publish() = 0;
  /// Asks for a segment that a process has published: the number of the access; 0 with errno when refused.
  virtual int64_t open(int64_t segment) = 0;
  /// Maps a part of that memory, by its owner's addresses; nullptr with errno. Touching what its owner has
  /// not mapped is a fault. Pre: whole pages.
  virtual std::byte* attach(int64_t access, uint64_t address, size_t bytes) = 0;
  virtual void detach(std::byte* address) = 0;
};

constexpr const char* kXpmemDevice = "/dev/xpmem";
/// nullptr when there is none, or not for this user.
std::unique_ptr<XpmemDevice> open_xpmem(const char* path = kXpmemDevice);

}  // namespace hearth::os
