#include "p2p/sleeping_threads.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/lock.h"
#include "base/os_wait.h"
#include "recording_transport.h"

namespace hearth::p2p {
namespace {

/// Counts the calls of the leader.
struct SleepTransport : RecordingTransport {
  uint64_t prepare_sleep() override {
    ++prepared;
    return sleep_ns_max;
  }
  void sleep(uint64_t timeout_ns) override { slept_ns = timeout_ns; }
  void end_sleep(bool slept) override { ++(slept ? ended : cancelled); }
  void wake_own() override { ++woken; }
  uint64_t sleep_ns_max = UINT64_MAX;
  uint64_t slept_ns = 0;
  int prepared = 0;
  int cancelled = 0;
  int ended = 0;
  int woken = 0;
};

constexpr uint64_t kBackstopNs = 5'000'000'000;

struct SleepingThreadsTest : testing::Test {
  Waiter waiter_for(bool& done) {
    over = [&done] { return done; };
    return {.describe = describe, .over = Over(over)};
  }
  std::function<bool()> over;
  const std::function<void(WaitDiagnostics&)> nothing = [](WaitDiagnostics&) {};
  Describe describe = Describe(nothing);
  SleepTransport transport;
  SleepingThreads threads{transport, kBackstopNs};
};

TEST_F(SleepingThreadsTest, the_leader_sleeps_no_longer_than_the_backstop_and_the_transport_allow) {
  bool done = false;
  Waiter waiter = waiter_for(done);
  EXPECT_TRUE(threads.lead(
      waiter, [] { return false; }, [this] { EXPECT_EQ(transport.slept_ns, 0u); }));
  EXPECT_EQ(transport.slept_ns, kBackstopNs);
  transport.sleep_ns_max = 1000;
  EXPECT_TRUE(threads.lead(
      waiter, [] { return false; }, [] {}));
  EXPECT_EQ(transport.slept_ns, 1000u);
  EXPECT_EQ(transport.ended, 2);
  EXPECT_FALSE(threads.has_leader());
}

// A store made before the rank counts as sleeping wakes no thread.
TEST_F(SleepingThreadsTest, the_last_poll_after_the_announcement_cancels_the_sleep) {
  bool done = false;
  Waiter waiter = waiter_for(done);
  EXPECT_FALSE(threads.lead(
      waiter, [this] { return transport.prepared == 1; }, [] {}));
  done = true;  // by a store that is no packet
  EXPECT_FALSE(threads.lead(
      waiter, [] { return false; }, [] {}));
  EXPECT_EQ(transport.cancelled, 2);
  EXPECT_EQ(transport.ended, 0);
}

TEST_F(SleepingThreadsTest, a_leader_whose_wait_is_over_is_woken) {
  struct Waking : SleepTransport {
    void sleep(uint64_t) override {
      threads->wake();
      EXPECT_EQ(woken, 0);
      *done = true;
      threads->wake();
      EXPECT_EQ(woken, 1);
    }
    SleepingThreads* threads = nullptr;
    bool* done = nullptr;
  } waking;
  SleepingThreads of_waking(waking, kBackstopNs);
  bool done = false;
  Waiter waiter = waiter_for(done);
  waking.threads = &of_waking;
  waking.done = &done;
  EXPECT_TRUE(of_waking.lead(
      waiter, [] { return false; }, [] {}));
}

struct Followers : SleepingThreadsTest {
  Followers() { LibraryLock::enabled = true; }
  ~Followers() override { LibraryLock::enabled = false; }
};

// The backstop would end the sleep too, after the time limit of the test.
TEST_F(Followers, a_follower_is_woken_when_its_wait_is_over_or_to_lead) {
  for (const bool ends : {true, false}) {
    bool done = false;
    bool slept = false;  // under the lock, which follow() releases when it sleeps
    std::thread follower([&] {
      const LockGuard guard;
      auto is_done = [&done] { return done; };
      Waiter waiter = {.describe = describe, .over = Over(is_done)};
      slept = true;
      threads.follow(waiter);
    });
    for (bool seen = false; !seen; std::this_thread::yield()) {
      const LockGuard guard;
      seen = slept;
    }
    const uint64_t begun_ns = os::now_ns();
    {
      const LockGuard guard;
      threads.wake();  // not over yet
      done = ends;
      ends ? threads.wake() : threads.hand_over();
    }
    follower.join();
    EXPECT_LT(os::now_ns() - begun_ns, kBackstopNs / 2);
  }
}

}  // namespace
}  // namespace hearth::p2p
