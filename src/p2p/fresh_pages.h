// Pages of a receive buffer that nobody has touched yet. The first store to each is a fault: on the
// development machine 1.7 us a page, where copying it takes 0.1 to 0.3. Asking the system for many pages at
// once takes two thirds of that, and while the receiver does so its sender fills the next cells. So a long
// message into fresh pages has them populated ahead of the copy, in pieces.
//
// Whether pages are fresh is asked by one store into the part of the buffer that the message is going to
// fill: a store to a page that is there takes tens of nanoseconds, a fault several hundred at least. Only
// pages wholly inside that part are populated, so that a message shorter than the buffer takes no memory that
// it does not need.
//
// One for each long message under way, in its ReceiveStream, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::p2p {

class FreshPages {
 public:
  /// Shorter messages are copied sooner than asked about.
  static constexpr size_t kBytesMin = size_t{128} << 10;

  FreshPages() = default;
  /// Looks at the buffer of a message. Pre: all these bytes will be written.
  FreshPages(std::byte* to, size_t bytes);

  /// Before the bytes up to `end`, counted from the beginning of the message, are written.
  void prepare(size_t end) {
    if (__builtin_expect(next_ < last_, 0) && end > static_cast<size_t>(next_ - to_)) populate(end);
  }
  bool any() const { return next_ < last_; }

 private:
  void populate(size_t end);

  // Populated up to `next_`; what there is to populate ends at `last_`. Equal: nothing, or no longer.
  std::byte* to_ = nullptr;
  std::byte* next_ = nullptr;
  std::byte* last_ = nullptr;
};

}  // namespace hearth::p2p
