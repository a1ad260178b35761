// Intel's Data Streaming Accelerator as a copy engine: the part of it that needs no device. A descriptor of
// 64 bytes is submitted to a work queue; the device copies, using virtual addresses of the process, and
// writes a completion record. Layouts and codes follow the "Intel Data Streaming Accelerator Architecture
// Specification" (341204); the test compares them with the kernel's linux/idxd.h. The interface Queue hides
// the device: base/os_dsa.h has the real one, tests have one in software.
//
// Owned by copy_engine.cpp, one Mover per process; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::copy::dsa {

/// A request to the device.
struct alignas(64) Descriptor {
  uint32_t process = 0;    // filled in on the way to the device
  uint32_t operation = 0;  // flags, and the operation in the highest eight bits
  uint64_t completion_address = 0;
  uint64_t from = 0;
  uint64_t to = 0;
  uint32_t bytes = 0;
  uint16_t interrupt_handle = 0;
  uint16_t reserved = 0;
  uint64_t more[3] = {};
};
static_assert(sizeof(Descriptor) == 64);

/// What the device writes on completion; it writes the first byte last.
struct alignas(32) Completion {
  uint8_t status = 0;
  uint8_t result = 0;
  uint16_t reserved = 0;
  uint32_t bytes_completed = 0;
  uint64_t fault_address = 0;
  uint64_t more[2] = {};
};
static_assert(sizeof(Completion) == 32);

constexpr uint32_t kMemoryMove = 3u << 24;
constexpr uint32_t kCompletionAddressValid = 0x4;
constexpr uint32_t kRequestCompletion = 0x8;
constexpr uint32_t kIntoCache = 0x100;  // a hint: the destination is about to be read

constexpr uint8_t kStatusMask = 0x7f;  // the highest bit: the fault was a write
constexpr uint8_t kPending = 0;
constexpr uint8_t kSuccess = 1;
constexpr uint8_t kPageFault = 3;  // the bytes before the fault are copied

/// A work queue of a device.
class Queue {
 public:
  enum class Answer { accepted, busy, broken };

  virtual ~Queue() = default;
  /// Submits a descriptor. Earlier stores of this thread are visible to the device.
  virtual Answer submit(const Descriptor& descriptor) = 0;
  /// Closes the queue. Post: accepted descriptors are completed or dropped, the device no longer accesses
  /// memory of this process, and submit() returns broken.
  virtual void close() = 0;
};

/// Copies by a queue until the device fails.
class Mover {
 public:
  /// `transfer_bytes_max`: limit of one descriptor. `patience_ns`: how long one descriptor may take.
  Mover(Queue& queue, size_t transfer_bytes_max, uint64_t patience_ns)
      : queue_(queue), transfer_bytes_max_(transfer_bytes_max), patience_ns_(patience_ns) {}
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  /// Returns how many bytes, from the beginning, it has copied; the caller copies the rest. It copies less
  /// than all if the queue is full, if another thread uses it, if too many pages are absent, and always after
  /// the device has failed once.
  size_t copy(void* to, const void* from, size_t bytes);

  bool works() const;

 private:
  size_t transfer(std::byte* to, const std::byte* from, size_t bytes, bool& page_absent);
  bool submit(const Descriptor& descriptor);
  void fail();

  Queue& queue_;
  const size_t transfer_bytes_max_;
  const uint64_t patience_ns_;
  uint32_t in_use_ = 0;
  uint32_t failed_ = 0;
  // Not on the stack: a faulty device may write it after the timeout.
  Completion completion_;
};

}  // namespace hearth::copy::dsa
