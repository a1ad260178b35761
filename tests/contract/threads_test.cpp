// The shared-memory transport with real concurrency: each rank is a thread. Run under the thread sanitizer,
// this checks the memory orders of rings, cells, credits and sleeping; without it, that nothing hangs or is
// lost.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/atomic.h"
#include "base/os_wait.h"
#include "job.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "p2p/wait_note.h"

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

  // Runs body(engine, rank) in one thread a rank.
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
        engine.wait_until([&] { return engine.quiet(); }, [](p2p::WaitNote& note) { note.finalize(); });
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  Job job_{Kind::shm, kRanks, 1};
  datatype::Type byte_;
};

constexpr size_t kLengths[] = {0, 8, 48, 49, 300, 1400, 5000, 40'000};

TEST_F(Threads, messages_go_round_whole) {
  const auto go_round = [this](Engine& engine, int rank) {
    datatype::Type bytes = byte_;  // references are counted under one lock, which these threads do not share
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

// Every wait goes to sleep at once: a lost wake-up would cost the sleeper's full backstop each time.
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
  // The backstop is 100 ms a sleep, and each round has three.
  const uint64_t lost_wakeups_would_take_ns = uint64_t{kRounds} * 100'000'000;
  EXPECT_LT(os::now_ns() - start_ns, lost_wakeups_would_take_ns / 2);
}

}  // namespace
}  // namespace hearth::contract
