#include "p2p/waiting.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>

#include "p2p/probes.h"
#include "recording_transport.h"

namespace hearth::p2p {
namespace {

/// Progress that a test decides.
struct FakeHost {
  bool progress() {
    ++polls;
    if (exhausted) throw std::bad_alloc();
    return on_poll != nullptr && on_poll();
  }
  bool poll_failures() {
    ++failure_checks;
    return false;
  }
  void do_deferred_work() { ++deferred; }
  bool must_poll() const { return polling_only; }
  void watch_awaited() { ++watches; }
  void shuffle() {}
  void out_of_memory(const char* what) { throw std::runtime_error(what); }

  std::function<bool()> on_poll;
  bool exhausted = false;
  bool polling_only = false;
  int polls = 0;
  int failure_checks = 0;
  int deferred = 0;
  int watches = 0;
};

struct SleepCounts : RecordingTransport {
  void sleep(uint64_t) override {
    ++sleeps;
    if (on_sleep) on_sleep();
  }
  int sleeps = 0;
  std::function<void()> on_sleep;
};

struct WaitingTest : testing::Test {
  Waiting<FakeHost> waiting_with(uint64_t spin_ns, uint64_t yield_ns) {
    return {{spin_ns, yield_ns}, {host, threads, publisher, profile, counters}};
  }

  FakeHost host;
  SleepCounts transport;
  EngineCounters counters;
  Pool<Request> requests;
  Matching matching;
  shm::WaitRecord page = {};
  SleepingThreads threads{transport, 1'000'000'000};
  WaitPublisher publisher{&page, requests, matching, nullptr};
  WaitProfile profile{nullptr, requests};
  const std::function<void(WaitDiagnostics&)> description = [](WaitDiagnostics& note) {
    note.probe({4, 1, 7});
  };
};

constexpr uint64_t kLongNs = 10'000'000'000;

TEST_F(WaitingTest, a_wait_that_is_over_does_not_poll) {
  waiting_with(0, 0).until([] { return true; }, description);
  EXPECT_EQ(host.polls, 0);
}

TEST_F(WaitingTest, a_short_wait_only_spins) {
  Waiting<FakeHost> waiting = waiting_with(kLongNs, 0);
  EXPECT_TRUE(waiting.spins());
  waiting.until([this] { return host.polls == 200; }, description);
  EXPECT_EQ(host.polls, 200);
  EXPECT_EQ(host.deferred, 199) << "deferred work is done in every idle round";
  EXPECT_EQ(transport.sleeps, 0);
  EXPECT_EQ(page.version, 0u) << "nothing is published";
}

TEST_F(WaitingTest, a_long_wait_is_published_and_sleeps) {
  bool done = false;
  uint32_t shown = 0;
  transport.on_sleep = [&] {
    shown = page.waits[0].kind;
    done = true;
  };
  waiting_with(0, 0).until([&done] { return done; }, description);
  EXPECT_EQ(transport.sleeps, 1);
  EXPECT_EQ(counters.sleeps, 1u);
  EXPECT_EQ(shown, static_cast<uint32_t>(shm::WaitKind::probe));
  EXPECT_EQ(page.waits[0].kind, static_cast<uint32_t>(shm::WaitKind::none)) << "hidden at the end";
}

// The condition may become true without a packet while the thread decides to sleep.
TEST_F(WaitingTest, a_wait_that_ends_in_the_last_poll_does_not_sleep) {
  bool done = false;
  host.on_poll = [&] {
    done |= host.polls == 2;  // the last poll, after the first round
    return false;
  };
  waiting_with(0, 0).until([&done] { return done; }, description);
  EXPECT_EQ(transport.sleeps, 0);
}

TEST_F(WaitingTest, an_operation_that_ends_without_a_wake_up_is_polled) {
  host.polling_only = true;
  waiting_with(0, 0).until([this] { return host.polls == 5; }, description);
  EXPECT_EQ(transport.sleeps, 0);
}

TEST_F(WaitingTest, constant_progress_does_not_hide_failures) {
  host.on_poll = [] { return true; };
  waiting_with(kLongNs, 0).until([this] { return host.polls == 1000; }, description);
  EXPECT_EQ(host.failure_checks, 3);
}

TEST_F(WaitingTest, long_waits_have_the_awaited_processes_watched) {
  transport.on_sleep = [] {};
  waiting_with(0, 0).until([this] { return transport.sleeps == 600; }, description);
  EXPECT_EQ(host.watches, 2);
}

TEST_F(WaitingTest, exhausted_memory_is_fatal) {
  host.exhausted = true;
  EXPECT_THROW(waiting_with(0, 0).until([] { return false; }, description), std::runtime_error);
}

TEST_F(WaitingTest, a_program_that_polls_is_published_after_a_while) {
  Waiting<FakeHost> waiting = waiting_with(kLongNs, 0);
  const MatchKey probe = {4, 1, 7};
  const auto is_published = [this] {
    return page.polling.kind == static_cast<uint32_t>(shm::WaitKind::polling);
  };
  EXPECT_FALSE(waiting.once(&probe));
  EXPECT_FALSE(is_published());
  const uint64_t begun_ns = os::now_ns();
  while (!is_published() && os::now_ns() - begun_ns < kLongNs) waiting.once(&probe);
  EXPECT_TRUE(is_published());
  host.on_poll = [] { return true; };
  EXPECT_TRUE(waiting.once(&probe));
  EXPECT_FALSE(is_published());
}

// Probes.

struct ProbesTest : WaitingTest {
  void arrive(int tag) {
    const std::byte payload[4] = {};
    ASSERT_NE(matching.add({4, 1, tag}, {shm::PacketHeader::make_commit(1, 0, 4, 0), 0}, payload), nullptr);
  }
  FailureRecord failures{3, nullptr};
  Waiting<FakeHost> waiting = waiting_with(kLongNs, 0);
  Probes<FakeHost> probes{matching, failures, waiting};
  Received received;
};

TEST_F(ProbesTest, a_probe_waits_for_its_message) {
  host.on_poll = [this] {
    arrive(host.polls);
    return true;
  };
  EXPECT_TRUE(probes.probe(1, 3, 4, received).ok());
  EXPECT_EQ(received.tag, 3);
  EXPECT_EQ(received.bytes, 4);
  EXPECT_EQ(matching.unexpected().size(), 3u) << "a probe takes no message";
}

TEST_F(ProbesTest, iprobe_makes_progress_once) {
  host.on_poll = [this] {
    arrive(host.polls);
    return true;
  };
  EXPECT_FALSE(probes.has_come(1, 1, 4, received));
  EXPECT_FALSE(probes.iprobe(1, 2, 4, received));
  EXPECT_TRUE(probes.iprobe(1, 2, 4, received)) << "arrived in the second call";
  EXPECT_TRUE(probes.iprobe(1, 2, 4, received));
  EXPECT_EQ(host.polls, 2);
}

TEST_F(ProbesTest, matched_probes_take_the_message) {
  arrive(7);
  arrive(7);
  UnexpectedMessage* first = probes.improbe(1, 7, 4, received);
  ASSERT_NE(first, nullptr);
  UnexpectedMessage* second = nullptr;
  EXPECT_TRUE(probes.mprobe(1, 7, 4, received, second).ok());
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(probes.improbe(1, 7, 4, received), nullptr);
  matching.destroy(first);
  matching.destroy(second);
}

TEST_F(ProbesTest, a_probe_of_a_revoked_communicator_fails) {
  arrive(7);
  failures.note_revoked(4);
  EXPECT_FALSE(probes.has_come(1, 7, 4, received));
  EXPECT_FALSE(probes.probe(1, 7, 4, received).ok());
}

}  // namespace
}  // namespace hearth::p2p
