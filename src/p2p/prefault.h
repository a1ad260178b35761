// Prefault of receive buffers. The first store to an untouched page is a fault: on the development machine
// 1.7 us per page, while copying a page takes 0.1 to 0.3. One system call that populates many pages takes two
// thirds of that, and the sender fills the next bounce buffers meanwhile. So for a long message, untouched
// pages are populated ahead of the copy, in pieces.
//
// One timed store into the part of the buffer that the message will fill detects untouched pages: it takes
// tens of nanoseconds on a present page, several hundred at least with a fault. Only pages entirely inside
// that part are populated, so a message shorter than the buffer uses no memory that it does not need.
//
// One per long message in progress, in its ReceiveStream, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::p2p {

class Prefault {
 public:
  /// For shorter messages the probe costs more than it saves.
  static constexpr size_t kBytesMin = size_t{128} << 10;

  Prefault() = default;
  /// Probes the buffer of a message. Pre: all these bytes will be written, because the probe overwrites one.
  Prefault(std::byte* to, size_t bytes);

  /// Call before writing the bytes up to `end`, counted from the beginning of the message.
  void prepare(size_t end) {
    if (__builtin_expect(next_ < last_, 0) && end > static_cast<size_t>(next_ - to_)) populate(end);
  }
  bool any() const { return next_ < last_; }

 private:
  void populate(size_t end);

  // The pages up to `next_` are populated; the range ends at `last_`. Equal: nothing is left to populate.
  std::byte* to_ = nullptr;
  std::byte* next_ = nullptr;
  std::byte* last_ = nullptr;
};

}  // namespace hearth::p2p
