// Process skew (hybrid-kernel-user-2008, section 4.2): a receiver reaches its receives later than the sender
// its sends. A zero-copy message blocks its sender until the receiver has copied it; a message in bounce
// buffers does not. So while a receiver lags, messages that fit the bounce buffers use them, although a
// single copy would be faster.
//
// The sender detects skew by its own wait: if the wait was longer than the copy can have taken, the receiver
// was late. Then the sender buffers a run of messages. After the run it sends one message by zero copy
// as a trial, and buffers all others until the trial ends. If the sender waited for the trial too, or soon
// waits again, the next run is twice as long. Short messages and packets have no extra cost.
//
// One per peer, owned by the engine, under the library's lock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hearth::p2p {

class Skew {
 public:
  /// Called before each message that fits the bounce buffers and may be sent by zero copy.
  bool prefers_bounce_buffers() {
    if (!lags_) return false;
    if (buffered_left_ == 0) return on_trial_;
    --buffered_left_;
    return true;
  }
  /// The message is sent by zero copy. If it is not, for another reason, the next message is the trial.
  void zero_copy_began() { on_trial_ = lags_; }
  /// A zero-copy send has ended, with or without a wait of the sender.
  void zero_copy_ended() {
    if (on_trial_) lags_ = on_trial_ = false;
  }
  /// Updates the policy: the sender waited `waited_ns` for its receiver to copy `bytes` bytes. After
  /// zero_copy_ended().
  void update(uint64_t bytes, uint64_t waited_ns) {
    if (waited_ns <= kPatienceNs + bytes / kSlowestBytesPerNs) {
      if (!lags_ && ++in_time_ == kInTimeToForget) run_ = kShortestRun;
    } else if (!lags_) {
      // Several zero-copy messages sent together are late together; only the first one counts.
      lags_ = true;
      in_time_ = 0;
      buffered_left_ = run_;
      run_ = std::min(run_ * 2, kLongestRun);
    }
  }

 private:
  // A copy from the arena reaches 30 bytes/ns or more, and bounce buffers take twice as long as that. If a
  // wait was slower than this rate, bounce buffers would have been faster.
  static constexpr uint64_t kSlowestBytesPerNs = 16;
  static constexpr uint64_t kPatienceNs = 5'000;
  // A trial waits for all messages sent before it, which may fill the bounce buffers.
  static constexpr uint32_t kShortestRun = 16;
  static constexpr uint32_t kLongestRun = 1024;
  // A single message may be in time by chance, such as the first one of a burst.
  static constexpr uint32_t kInTimeToForget = 16;

  bool lags_ = false;
  bool on_trial_ = false;  // one zero-copy message is pending as a trial
  uint32_t buffered_left_ = 0;
  uint32_t in_time_ = 0;  // consecutive messages without a long wait
  uint32_t run_ = kShortestRun;
};

}  // namespace hearth::p2p
