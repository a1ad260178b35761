// Transfers of files that the kernel makes beside the process: io_uring (Linux 5.6), by its system calls.
// Containers often refuse it, so open() tries once. Not for several threads at the same time.
//
//   submit() -> submission queue -> a worker of the kernel -> completion queue -> poll()
//
// Both queues are memory that the kernel shares; poll() reads it without a system call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/os_io.h"

namespace hearth::os {

struct RingTransfer {
  bool writing;
  int descriptor;
  void* memory;
  int64_t bytes;  // at most kRingBytesMax; more is not moved
  int64_t offset;
};
constexpr int64_t kRingBytesMax = int64_t{1} << 30;

class FileRing {
 public:
  FileRing() = default;
  ~FileRing() { close(); }
  FileRing(const FileRing&) = delete;
  FileRing& operator=(const FileRing&) = delete;

  /// False if the system has no io_uring or refuses it; later calls return the same.
  bool open();
  /// Starts a transfer; `tag` comes back from poll(). The memory has to stay until then. False if there is no
  /// room: the caller uses another way.
  bool submit(const RingTransfer& transfer, uint64_t tag);
  /// Takes a completed transfer: the bytes moved, or a negative errno. False if none is complete.
  bool poll(uint64_t& tag, int32_t& result);
  /// Waits until a transfer is complete, unless none is in flight.
  void wait();
  int in_flight() const { return in_flight_; }
  /// Pre: nothing is in flight.
  void close();

 private:
  struct Mapping {
    void* begin = nullptr;
    size_t bytes = 0;
  };
  bool map(Mapping& mapping, size_t bytes, uint64_t what) const;
  template <class T>
  static T& at(const Mapping& mapping, uint32_t offset);

  static constexpr uint32_t kEntries = 64;

  bool tried_ = false;
  Descriptor ring_;
  Mapping submissions_;
  Mapping completions_;
  Mapping entries_;
  // Offsets of the fields in the mappings, as the kernel reports them.
  uint32_t submission_tail_ = 0;
  uint32_t submission_mask_ = 0;
  uint32_t submission_array_ = 0;
  uint32_t completion_head_ = 0;
  uint32_t completion_tail_ = 0;
  uint32_t completion_mask_ = 0;
  uint32_t completion_entries_ = 0;
  int in_flight_ = 0;
};

}  // namespace hearth::os
