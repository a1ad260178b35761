// The shared-memory transport with real concurrency: each rank is a thread. Under the thread sanitizer, this
// checks the memory orders of rings, bounce buffers, credits and sleeping; without it, that nothing hangs or
// is lost.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "base/lock.h"
#include "base/os_wait.h"
#include "job.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "p2p/wait_diagnostics.h"
#include "shm/wait.h"

namespace hearth::contract {
namespace {

using p2p::Engine;
using p2p::Received;
using p2p::Request;

constexpr int kRanks = 3;

class Threads : public testing::Test {
 protected:
  Threads() {
    byte_.size = byte_.extent = byte_.true_extent = 1;
    byte_.committed = true;
  }

  // Runs body(engine, rank) in one thread per rank.
  template <class Body>
  void run(p2p::WaitPolicy policy, Body body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        p2p::EngineSetup setup;
        setup.self = rank;
        setup.size = kRanks;
        setup.transport = &job_.endpoint(rank);
        setup.wait = policy;
        setup.relation = [rank](PeerIndex peer) {
          return peer == rank ? topo::Relation::self : topo::Relation::l3;
        };
        setup.warn = [](const char* text) { ADD_FAILURE() << text; };
        Engine engine(setup);
        body(engine, rank);
        engine.wait_until([&] { return engine.quiet(); },
                          [](p2p::WaitDiagnostics& note) { note.finalize(); });
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  Job job_{{Kind::shm, 1}, kRanks};
  datatype::Type byte_;
};

constexpr size_t kLengths[] = {0, 8, 48, 49, 300, 1400, 5000, 40'000};

TEST_F(Threads, messages_go_round_whole) {
  const auto go_round = [this](Engine& engine, int rank) {
    datatype::Type bytes = byte_;  // a lock protects reference counts, and these threads do not share it
    std::vector<unsigned char> out(40'000);
    std::vector<unsigned char> in(40'000);
    for (int round = 0; round < 300; ++round) {
      const size_t length = kLengths[static_cast<size_t>(round) % std::size(kLengths)];
      std::memset(out.data(), round + rank, length);
      Request* request;
      const int from = (rank + kRanks - 1) % kRanks;
      ASSERT_TRUE(
          engine.ireceive(in.data(), static_cast<Count>(length), bytes, from, round, 4, request).ok());
      ASSERT_TRUE(
          engine.send(out.data(), static_cast<Count>(length), bytes, (rank + 1) % kRanks, round, 4).ok());
      ASSERT_TRUE(engine.wait(request).ok());
      for (size_t at = 0; at < length; ++at) ASSERT_EQ(in[at], static_cast<unsigned char>(round + from));
    }
  };
  run({1000, 100'000}, go_round);
}

TEST_F(Threads, a_flood_is_taken_in_order) {
  run({0, 20'000}, [this](Engine& engine, int rank) {
    datatype::Type bytes = byte_;
    constexpr int kMessages = 3000;
    if (rank == 0) {
      for (int n = 0; n < 2 * kMessages; ++n) {
        Received received;
        int value[2];
        ASSERT_TRUE(engine.receive(value, sizeof value, bytes, MPI_ANY_SOURCE, 3, 4, &received).ok());
        ASSERT_EQ(value[0], received.from);
        static thread_local int next[kRanks];
        ASSERT_EQ(value[1], next[received.from]++);
      }
    } else {
      for (int n = 0; n < kMessages; ++n) {
        const int value[2] = {rank, n};
        ASSERT_TRUE(engine.send(value, sizeof value, bytes, 0, 3, 4).ok());
      }
    }
  });
}

// Every wait sleeps at once: each lost wake-up would cost the sleeper its full timeout.
TEST_F(Threads, sleepers_are_woken) {
  constexpr int kRounds = 200;
  const uint64_t start_ns = os::now_ns();
  run({0, 0}, [this](Engine& engine, int rank) {
    datatype::Type bytes = byte_;
    int token = 0;
    for (int round = 0; round < kRounds; ++round) {
      if (rank != 0) {
        ASSERT_TRUE(engine.receive(&token, sizeof token, bytes, rank - 1, 1, 4).ok());
        ASSERT_EQ(token, round);
      }
      token = round;
      ASSERT_TRUE(engine.send(&token, sizeof token, bytes, (rank + 1) % kRanks, 1, 4).ok());
      if (rank == 0) ASSERT_TRUE(engine.receive(&token, sizeof token, bytes, kRanks - 1, 1, 4).ok());
    }
  });
  // The timeout is 100 ms per sleep, and each round has three sleeps.
  const uint64_t lost_wakeups_would_take_ns = uint64_t{kRounds} * 100'000'000;
  EXPECT_LT(os::now_ns() - start_ns, lost_wakeups_would_take_ns / 2);
}

/// Two threads of one rank that wait for words stored by other ranks, as for the lock of a window: no packet
/// announces the store, only the wake-up word. Sleeps do not time out.
class ThreadsOfOneRank : public testing::Test {
 protected:
  static constexpr uint64_t kForeverNs = uint64_t{3600} * 1'000'000'000;
  static constexpr uint64_t kLimitNs = uint64_t{20} * 1'000'000'000;

  ThreadsOfOneRank() : engine_(setup_of(job_)), wake_word_(job_.segment(), 0) { LibraryLock::enabled = true; }
  ~ThreadsOfOneRank() override { LibraryLock::enabled = false; }

  static p2p::EngineSetup setup_of(Job& job) {
    p2p::EngineSetup setup;
    setup.size = job.size();
    setup.transport = &job.endpoint(0);
    setup.relation = [](PeerIndex) { return topo::Relation::l3; };
    setup.backstop_ns = kForeverNs;
    return setup;
  }

  void wait_for(const uint32_t& word, uint32_t value) {
    const LockGuard guard;
    engine_.wait_until([&] { return atomic::load_acquire(word) >= value; }, [](p2p::WaitDiagnostics&) {});
  }
  void store(uint32_t& word, uint32_t value) {
    atomic::store_release(word, value);
    wake_word_.wake();
  }
  template <class Done>
  static bool comes(Done done) {
    const uint64_t end_ns = os::now_ns() + kLimitNs;
    while (!done() && os::now_ns() < end_ns) os::yield_processor();
    return done();
  }
  uint64_t sleeps() {
    const LockGuard guard;
    return engine_.counters().sleeps;
  }
  /// For threads that no store will wake.
  void wake_all() {
    const LockGuard guard;
    engine_.wake_threads();
  }

  Job job_{{Kind::shm, 1}, 2};
  Engine engine_;
  shm::WakeWord wake_word_;
};

TEST_F(ThreadsOfOneRank, a_bell_wakes_the_thread_that_it_is_for) {
  uint32_t first = 0, second = 0, awake = 0;
  std::thread leader([&] { wait_for(first, 1); });
  ASSERT_TRUE(comes([&] { return sleeps() == 1; }));
  std::thread follower([&] {
    wait_for(second, 1);
    atomic::store_release(awake, 1u);
  });
  ASSERT_TRUE(comes([&] { return sleeps() == 2; }));
  store(second, 1);
  EXPECT_TRUE(comes([&] { return atomic::load_acquire(awake) == 1; })) << "the leader has slept on";
  store(first, 1);
  wake_all();
  leader.join();
  follower.join();
}

// The words are stored at random times while the threads prepare to sleep.
TEST_F(ThreadsOfOneRank, no_wake_up_is_lost_on_the_way_to_sleep) {
  constexpr uint32_t kRounds = 20'000;
  uint32_t words[2] = {}, seen[2] = {};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 2; ++i) {
    waiters.emplace_back([&, i] {
      for (uint32_t round = 1; round <= kRounds; ++round) {
        wait_for(words[i], round);
        atomic::store_release(seen[i], round);
      }
    });
  }
  std::mt19937 chance(1);
  bool in_time = true;
  for (uint32_t round = 1; round <= kRounds && in_time; ++round) {
    const int first = static_cast<int>(chance() % 2);
    for (const int i : {first, 1 - first}) {
      for (uint32_t pause = chance() % 200; pause > 0; --pause) atomic::cpu_relax();
      store(words[i], round);
    }
    in_time = comes(
        [&] { return atomic::load_acquire(seen[0]) == round && atomic::load_acquire(seen[1]) == round; });
  }
  EXPECT_TRUE(in_time) << "round " << seen[0] << " and " << seen[1];
  for (uint32_t& word : words) store(word, kRounds);
  wake_all();
  for (std::thread& waiter : waiters) waiter.join();
}

}  // namespace
}  // namespace hearth::contract
