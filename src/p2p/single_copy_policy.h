// Adaptive choice between the two ways of a long message outside the arena: one copy by the kernel (CMA), or
// two copies through bounce buffers. Neither process can determine cheaply which one is faster: it depends on
// whether the kernel finds huge pages behind the sender's buffer (NumPy asks for them from 4 MiB on; systems
// with transparent huge pages always on have them everywhere), whether the two processes share a cache, and
// how many pairs copy at the same time. So the receiver measures: a sender offers its buffer from
// p2p_single_copy_measured_bytes_min on, and now and then the receiver takes the other way for one message.
//
// One per peer, of the receiver, owned by the engine, under the library's lock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hearth::p2p {

class SingleCopyPolicy {
 public:
  /// The way of the next message: true for single copy, false for bounce buffers.
  bool choose() {
    if (until_trial_ > 0) {
      --until_trial_;
      return single_copy_;
    }
    until_trial_ = interval_;
    return !single_copy_;
  }
  /// Updates the policy: a message of `bytes` bytes took `ns` from its match to its end. Pre: bytes > 0.
  void update(bool by_single_copy, uint64_t bytes, uint64_t ns) {
    const double cost = static_cast<double>(ns) / static_cast<double>(bytes);
    if (by_single_copy == single_copy_) {
      cost_ = cost_ == 0 ? cost : (cost_ + cost) / 2;
    } else if (cost * kMargin < cost_) {
      single_copy_ = by_single_copy;
      cost_ = cost;
      interval_ = kIntervalMin;
    } else {
      interval_ = std::min(2 * interval_, kIntervalMax);
    }
  }

 private:
  // A switch has to gain more than the times of equal messages differ.
  static constexpr double kMargin = 1.125;
  // Messages between two trials. The interval doubles with each trial that confirms the current way: the
  // slower way takes up to four times as long.
  static constexpr uint32_t kIntervalMin = 8;
  static constexpr uint32_t kIntervalMax = 256;

  bool single_copy_ = false;
  uint32_t until_trial_ = 1;  // programs with few long messages gain from the second one on
  uint32_t interval_ = kIntervalMin;
  double cost_ = 0;  // ns per byte of the current way, smoothed; 0: not measured yet
};

}  // namespace hearth::p2p
