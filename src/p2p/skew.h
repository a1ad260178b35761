// Process skew (hybrid-kernel-user-2008, section 4.2): a receiver that comes late to its messages. A message
// that is copied straight from the sender's buffer keeps its sender until then; one in cells does not. So
// while a receiver lags, messages that cells can hold go through them, although a single copy would be
// faster.
//
// The sender knows by its own waiting: longer than the copy can have taken, so the receiver was elsewhere.
// Then a run of messages is buffered; after it one is lent again, and until its fate is known all others go
// on through cells. If the sender waited for that one too, or soon waits again, the next run is twice as
// long. Nothing is added to short messages, and nothing to the packets.
//
// One for each peer, owned by the engine, under the library's lock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hearth::p2p {

class Skew {
 public:
  /// Asked before a message is lent that cells could hold as well.
  bool prefers_cells() {
    if (!lags_) return false;
    if (buffered_left_ == 0) {
      if (on_trial_) return true;
      on_trial_ = true;
      return false;
    }
    --buffered_left_;
    return true;
  }
  /// A message that was lent is over, whether anybody waited for it or not.
  void lent_is_over() {
    if (on_trial_) lags_ = on_trial_ = false;
  }
  /// The sender waited so long for its receiver to copy so many bytes. After lent_is_over().
  void judge(uint64_t bytes, uint64_t waited_ns) {
    if (waited_ns <= kPatienceNs + bytes / kSlowestBytesPerNs) {
      if (!lags_ && ++in_time_ == kInTimeToForget) run_ = kShortestRun;
    } else if (!lags_) {
      // Several that were lent together are late together: the first one counts.
      lags_ = true;
      in_time_ = 0;
      buffered_left_ = run_;
      run_ = std::min(run_ * 2, kLongestRun);
    }
  }

 private:
  // A copy out of the arena runs at 30 bytes a nanosecond and more; through cells a message would take twice
  // that, so longer waits are dearer than cells are.
  static constexpr uint64_t kSlowestBytesPerNs = 16;
  static constexpr uint64_t kPatienceNs = 5'000;
  // One message on trial waits for all that were sent before it, which may be as much as cells hold.
  static constexpr uint32_t kShortestRun = 16;
  static constexpr uint32_t kLongestRun = 1024;
  // One may be in time by chance, the first of several for example that come in a row.
  static constexpr uint32_t kInTimeToForget = 16;

  bool lags_ = false;
  bool on_trial_ = false;  // one is lent, and nothing is known of it yet
  uint32_t buffered_left_ = 0;
  uint32_t in_time_ = 0;  // one after the other
  uint32_t run_ = kShortestRun;
};

}  // namespace hearth::p2p
