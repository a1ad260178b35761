// Waiting: a call that cannot return yet polls, yields its processor, then sleeps. Also the polling of calls
// that return at once.
//
// `Host` makes progress: the engine, or a fake engine in tests. Its functions are called directly:
//
//   bool progress()         advances pending operations; whether any advanced
//   bool poll_failures()    ends operations that cannot complete; whether any ended
//   void do_deferred_work() does a part of the deferred work, if there is any
//   bool must_poll()        an operation may end without a packet or a wake-up, so sleep only briefly
//   void watch_awaited()    has the transport monitor the processes that receives wait for
//   void shuffle()          randomizes the order of polling
//   void out_of_memory(const char* what)   does not return
//
// Owned by the host, under the library's lock.
#pragma once

#include <cstdint>
#include <new>

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/lock.h"
#include "base/os_wait.h"
#include "p2p/counters.h"
#include "p2p/sleeping_threads.h"
#include "p2p/wait_profile.h"
#include "p2p/wait_publisher.h"
#include "p2p/waiter.h"
#include "p2p/yield_policy.h"

namespace hearth::p2p {

/// How long a waiting call spins, then yields, before the rank sleeps.
struct WaitPolicy {
  uint64_t spin_ns = 0;
  uint64_t yield_ns = 0;
  bool always_yields = false;  // even after long yields (yield_policy.h)
  static WaitPolicy from_parameters(bool more_ranks_than_processors, bool on_one_machine);
};

template <class Host>
class Waiting {
 public:
  struct Parts {
    Host& host;
    SleepingThreads& threads;
    WaitPublisher& publisher;
    WaitProfile& profile;
    EngineCounters& counters;
  };
  Waiting(const WaitPolicy& policy, const Parts& parts)
      : policy_(policy), parts_(parts), yields_(policy.always_yields) {}

  /// Whether waits begin with spinning; false if ranks outnumber processors.
  bool spins() const { return policy_.spin_ns != 0; }

  /// Progresses until done() returns true: spins, yields, then sleeps. A wait that lasts is published in the
  /// wait diagnostics: describe(WaitDiagnostics&) writes them, and again after changes of the queues or some
  /// time.
  template <class Done>
  void until(Done&& done, const Describe& describe) try {
    if (done()) return;
    Waiter waiter = {.describe = describe, .over = Over(done)};
    for (;;) {
      const bool moved = parts_.host.progress();
      if (done()) break;
      if (moved) {
        waiter.rounds = 0;
        if (++waiter.moves % kMovesPerCheck == 0) parts_.host.poll_failures();
        LibraryLock::yield_lock();
      } else if (idle(waiter) && !done()) {  // another thread may have completed it during idle()
        sleep(waiter);
      }
    }
    if (__builtin_expect(waiter.noted, 0)) end(waiter);
  } catch (const std::bad_alloc&) {
    // The awaited operations use the caller's buffers, so the wait cannot be abandoned.
    parts_.host.out_of_memory("a wait");
  }

  /// Progress for a call that returns at once; returns whether anything advanced. After several calls without
  /// progress it yields the processor if ranks outnumber processors. `probe`: the key of a probe that polls,
  /// or nullptr.
  bool once(const MatchKey* probe);

 private:
  // Polling rounds per clock reading: a reading costs 25 ns, a round 5 to 20.
  static constexpr uint32_t kRoundsPerReading = 32;
  // A wait in which every round makes progress checks for failures once in this many rounds.
  static constexpr uint32_t kMovesPerCheck = 256;
  // About every quarter of a second with the router's short sleeps.
  static constexpr uint64_t kSleepsPerWatch = 256;
  // Calls of once() without progress before it yields the processor.
  static constexpr uint32_t kFruitlessPerYield = 8;
  // Calls of once() without progress per clock reading, after which the wait diagnostics may report the
  // program as polling.
  static constexpr uint32_t kFruitlessPerNote = 64;

  /// Pauses briefly, and lets other threads enter the library; returns true once the wait has lasted long
  /// enough to sleep.
  bool idle(Waiter& waiter);
  /// Sleeps until a wake-up. Pre: the wait's condition was evaluated after the lock was last released.
  void sleep(Waiter& waiter);
  void end(Waiter& waiter);

  const WaitPolicy policy_;
  const Parts parts_;
  YieldPolicy yields_;
  uint32_t fruitless_ = 0;  // consecutive calls of once() without progress
};

template <class Host>
bool Waiting<Host>::once(const MatchKey* probe) try {
  if (parts_.host.progress()) {
    fruitless_ = 0;
    parts_.publisher.end_polling();
    return true;
  }
  parts_.host.do_deferred_work();
  ++fruitless_;
  if (parts_.host.poll_failures()) return true;
  chaos::at(chaos::Point::waiting);
  if (chaos::draw(8) == 1) parts_.host.shuffle();
  // Otherwise a program that polls in a loop would keep the awaited rank from running.
  if (policy_.spin_ns == 0 && fruitless_ % kFruitlessPerYield == 0) os::yield_processor();
  if (__builtin_expect(fruitless_ % kFruitlessPerNote == 0, 0)) parts_.publisher.note_polling(probe);
  return false;
} catch (const std::bad_alloc&) {
  parts_.host.out_of_memory("wait diagnostics");
  return false;
}

template <class Host>
bool Waiting<Host>::idle(Waiter& waiter) try {
  parts_.host.do_deferred_work();
  LibraryLock::yield_lock();
  // The first clock reading comes after some rounds, because it would delay a message that is just arriving.
  const uint32_t rounds_per_reading = policy_.spin_ns != 0 ? kRoundsPerReading : 1;
  if (++waiter.rounds % rounds_per_reading != 0) {
    atomic::cpu_relax();
    return false;
  }
  chaos::at(chaos::Point::waiting);
  if (chaos::draw(8) == 1) parts_.host.shuffle();
  const uint64_t now = os::now_ns();
  const bool first_reading = waiter.rounds == rounds_per_reading;
  if (first_reading) waiter.since_ns = now;
  if (waiter.began_ns == 0) waiter.began_ns = now;
  if (parts_.profile.active()) parts_.profile.read_clock(waiter, now, first_reading);
  if (parts_.host.poll_failures()) return false;
  const uint64_t waited = now - waiter.since_ns;
  if (waited < policy_.spin_ns) return false;
  // A wait that must poll would sleep without a wake-up.
  const bool yields = yields_.yields(now) || parts_.host.must_poll();
  if (waited < policy_.spin_ns + policy_.yield_ns && yields) {
    // Releases the lock while this thread is off the processor.
    const uint32_t depth = LibraryLock::release_all();
    os::yield_processor();
    const uint64_t yielded_ns = os::now_ns();
    LibraryLock::acquire_all(depth);
    yields_.yielded(now, yielded_ns);
    if (parts_.profile.active()) parts_.profile.read_clock(waiter, yielded_ns, false);
    return false;
  }
  parts_.publisher.show(waiter, now);
  return true;
} catch (const std::bad_alloc&) {
  parts_.host.out_of_memory("wait diagnostics");
  return false;
}

template <class Host>
void Waiting<Host>::sleep(Waiter& waiter) try {
  if (parts_.host.must_poll()) {
    const uint32_t depth = LibraryLock::release_all();
    os::sleep_ns(policy_.yield_ns);
    LibraryLock::acquire_all(depth);
    return;
  }
  waiter.noted = true;
  if (parts_.threads.has_leader()) {
    ++parts_.counters.sleeps;
    parts_.threads.follow(waiter);
  } else {
    parts_.threads.lead(
        waiter, [this] { return parts_.host.progress() || parts_.host.poll_failures(); },
        [this] {
          if (++parts_.counters.sleeps % kSleepsPerWatch == 0) parts_.host.watch_awaited();
        });
  }
  if (parts_.profile.active()) parts_.profile.read_clock(waiter, os::now_ns(), false);
} catch (const std::bad_alloc&) {
  parts_.host.out_of_memory("the list of sleeping threads");
}

template <class Host>
void Waiting<Host>::end(Waiter& waiter) {
  parts_.publisher.hide(waiter);
  parts_.profile.end(waiter);
  parts_.threads.hand_over();
}

}  // namespace hearth::p2p
