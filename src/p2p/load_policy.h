// Adaptive load policy: how a receiver copies fragments out of the bounce buffers of one sender. There are
// two orders:
//
//   in order     best if the two share a cache
//   four pages   one line of each of four pages in rotation (base/copy_loop.h). Lines of another cache arrive
//                one after the other, and hardware prefetch in four places keeps more of them in flight: 16
//                KiB take 0.9 us instead of 1.1. With a shared cache it takes up to a fifth longer.
//
// Only a measurement shows which order is faster: now and then two consecutive fragments are timed, one in
// each order. One per peer, owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::p2p {

class LoadPolicy {
 public:
  /// Measured, or fixed by the parameter p2p_loads.
  enum class Choice : uint8_t { by_time, in_order, four_pages };

  explicit LoadPolicy(Choice choice = Choice::by_time)
      : choice_(choice), four_pages_(choice == Choice::four_pages) {}

  /// Whether a fragment is eligible for the choice: long enough, and its message fits L2 together with its
  /// destination. Longer messages come from memory, where four pages take a tenth longer (no shared cache,
  /// 512 KiB).
  static bool has_choice(int64_t message_bytes, size_t bytes) {
    return bytes >= kBytesMin && message_bytes <= kMessageBytesMax;
  }
  /// Pre: has_choice().
  void read(void* to, const std::byte* from, size_t bytes);
  bool reads_four_pages() const { return four_pages_; }
  /// Updates the policy with a trial: a fragment of `bytes` bytes took these times in each order.
  void update(uint64_t bytes, uint64_t in_order_ns, uint64_t four_pages_ns);

 private:
  static constexpr size_t kBytesMin = 8192;
  static constexpr int64_t kMessageBytesMax = 256 * 1024;

  static void copy(bool four_pages, void* to, const std::byte* from, size_t bytes);

  Choice choice_;
  bool four_pages_;
  uint8_t lost_ = 0;               // consecutive trials in which the other order was faster
  bool begins_with_four_ = false;  // order of the first fragment in the current or next trial
  uint32_t pieces_ = 0;            // fragments since the last trial
  size_t first_bytes_ = 0;         // length of the current trial's first fragment; 0: no trial is active
  uint64_t first_ns_ = 0;          // time of that fragment
};

/// The value of p2p_loads; unknown values mean by_time.
LoadPolicy::Choice load_choice();

}  // namespace hearth::p2p
