// The sleeping threads of a process. One of them is the leader: it sleeps on the rank's wake-up word and
// handles all incoming packets. The followers sleep on futexes of their own, and are woken by threads of this
// process when their wait is over, or to become the leader. So a message wakes the leader and the thread that
// it completes, however many threads sleep.
//
// Owned by the engine, under the library's lock, which sleeping threads release.
#pragma once

#include <cstdint>
#include <vector>

#include "p2p/waiter.h"
#include "transport/transport.h"

namespace hearth::p2p {

class SleepingThreads {
 public:
  /// `backstop_ns`: the longest sleep.
  SleepingThreads(transport::Transport& transport, uint64_t backstop_ns)
      : transport_(transport), backstop_ns_(backstop_ns) {}

  bool has_leader() const { return leader_ != nullptr; }
  /// Sleeps as the leader, unless `last_poll`, which runs after the rank counts as sleeping, finds something.
  /// `before_sleep` runs if the thread does sleep. Returns whether it slept. Pre: !has_leader().
  template <class LastPoll, class BeforeSleep>
  bool lead(Waiter& waiter, const LastPoll& last_poll, const BeforeSleep& before_sleep) {
    // Last poll, after the fence in prepare_sleep(): it sees every store made before the fence, and the
    // process that makes a later store sees that this rank sleeps (shm/wait.h). A store may end a wait
    // without a packet, such as the release of a window's lock, which progress does not report. So the
    // conditions of all sleeping threads are evaluated.
    const uint64_t sleep_ns_max = transport_.prepare_sleep();
    if (last_poll() || waiter.over()) {
      transport_.end_sleep(false);
      return false;
    }
    wake();
    before_sleep();
    sleep_as_leader(waiter, sleep_ns_max);
    return true;
  }
  /// Sleeps as a follower.
  void follow(Waiter& waiter);
  /// Wakes the threads whose waits are over. For every thread that ends a wait of another one.
  void wake();
  /// A wait has ended: wakes a follower, which becomes the leader, if no leader is left.
  void hand_over();

 private:
  void sleep_as_leader(Waiter& waiter, uint64_t sleep_ns_max);
  static void wake_follower(Waiter& waiter);

  transport::Transport& transport_;
  const uint64_t backstop_ns_;
  Waiter* leader_ = nullptr;
  std::vector<Waiter*> followers_;
};

}  // namespace hearth::p2p
