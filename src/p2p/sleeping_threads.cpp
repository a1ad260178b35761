#include "p2p/sleeping_threads.h"

#include <algorithm>

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/lock.h"
#include "base/os_wait.h"

namespace hearth::p2p {

void SleepingThreads::sleep_as_leader(Waiter& waiter, uint64_t sleep_ns_max) {
  chaos::at(chaos::Point::asleep);
  leader_ = &waiter;
  const uint32_t depth = LibraryLock::release_all();
  transport_.sleep(std::min(backstop_ns_, sleep_ns_max));
  LibraryLock::acquire_all(depth);
  leader_ = nullptr;
  transport_.end_sleep(true);
  // The wake-up word is shared by all threads of the rank, so the event may concern a follower. Without this
  // call the next last poll would wake it, but only after this thread has polled and yielded.
  wake();
}

void SleepingThreads::follow(Waiter& waiter) {
  waiter.asleep = 1;
  followers_.push_back(&waiter);
  const uint32_t depth = LibraryLock::release_all();
  os::futex_wait(waiter.asleep, 1, backstop_ns_);
  LibraryLock::acquire_all(depth);
  followers_.erase(std::find(followers_.begin(), followers_.end(), &waiter));
}

// The waiter's futex stays valid: its thread needs the library's lock to end the wait.
void SleepingThreads::wake_follower(Waiter& waiter) {
  if (atomic::load_relaxed(waiter.asleep) == 0) return;
  atomic::store_relaxed(waiter.asleep, 0u);
  os::futex_wake(waiter.asleep);
}

void SleepingThreads::wake() {
  if (leader_ != nullptr && leader_->over()) transport_.wake_own();
  // over() may call this function again, but only a sleeping thread adds or removes its own entry.
  for (Waiter* follower : followers_) {
    if (follower->over()) wake_follower(*follower);
  }
}

void SleepingThreads::hand_over() {
  if (leader_ == nullptr && !followers_.empty()) wake_follower(*followers_.back());
}

}  // namespace hearth::p2p
