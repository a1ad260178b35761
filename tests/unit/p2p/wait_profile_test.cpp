#include "p2p/wait_profile.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "base/os_io.h"
#include "mpi.h"
#include "p2p/wait_diagnostics.h"
#include "profile/board.h"
#include "profile/recorder.h"

namespace hearth::p2p {
namespace {

using profile::Wait;

constexpr uint64_t kMs = 1'000'000;

struct WaitProfileTest : testing::Test {
  void SetUp() override {
    ASSERT_TRUE(profile::Board::create(2, 0, board).ok());
    ASSERT_TRUE(profile::Board::attach(os::duplicate_out_of_the_way(board.descriptor()), 2, 0, part).ok());
    recorder.emplace(part, 0, 0);
    recorder->begin();
    profile.emplace(&*recorder, requests);
  }
  Waiter waiter() { return {.describe = describe, .over = Over(never), .began_ns = 1}; }
  uint64_t waited_ns(Wait kind, PeerIndex peer = 1) {
    return recorder->counts(peer)->waited_ns[static_cast<size_t>(kind)];
  }
  uint64_t waits(Wait kind) { return recorder->counts(1)->waits[static_cast<size_t>(kind)]; }

  std::function<void(WaitDiagnostics&)> description = [](WaitDiagnostics& note) { note.probe({4, 1, 7}); };
  const Describe describe{description};
  const std::function<bool()> never = [] { return false; };
  profile::Board board;
  profile::Board part;
  std::optional<profile::Recorder> recorder;
  Pool<Request> requests;
  std::optional<WaitProfile> profile;
};

TEST_F(WaitProfileTest, idle_time_counts_for_the_awaited_process) {
  Waiter wait = waiter();
  profile->read_clock(wait, 10 * kMs, true);
  profile->read_clock(wait, 12 * kMs, false);
  EXPECT_EQ(waited_ns(Wait::late_sender), 0u) << "counted at the end";
  EXPECT_TRUE(wait.noted);
  profile->end(wait);
  EXPECT_EQ(waited_ns(Wait::late_sender), 2 * kMs);
  EXPECT_EQ(waits(Wait::late_sender), 1u);
}

TEST_F(WaitProfileTest, time_of_progress_is_no_wait) {
  Waiter wait = waiter();
  profile->read_clock(wait, 10 * kMs, true);
  profile->read_clock(wait, 30 * kMs, true);  // copied until now
  profile->read_clock(wait, 31 * kMs, false);
  profile->end(wait);
  EXPECT_EQ(waited_ns(Wait::late_sender), kMs);
}

TEST_F(WaitProfileTest, a_wait_without_idle_time_is_not_counted) {
  Waiter wait = waiter();
  profile->end(wait);
  profile->read_clock(wait, 10 * kMs, true);
  profile->end(wait);
  EXPECT_EQ(waits(Wait::late_sender), 0u);
}

TEST_F(WaitProfileTest, a_long_wait_is_counted_before_its_end_and_once) {
  Waiter wait = waiter();
  profile->read_clock(wait, 10 * kMs, true);
  profile->read_clock(wait, 110 * kMs, false);
  EXPECT_EQ(waited_ns(Wait::late_sender), 100 * kMs);
  profile->read_clock(wait, 111 * kMs, false);
  profile->end(wait);
  EXPECT_EQ(waited_ns(Wait::late_sender), 101 * kMs);
  EXPECT_EQ(waits(Wait::late_sender), 1u);
}

// After its first operation completes, the description would be that of another wait.
TEST_F(WaitProfileTest, the_description_of_the_beginning_stays) {
  Waiter wait = waiter();
  profile->read_clock(wait, 10 * kMs, true);
  profile->read_clock(wait, 11 * kMs, false);
  description = [](WaitDiagnostics& note) { note.collective(5, "barrier"); };
  profile->read_clock(wait, 12 * kMs, false);
  profile->end(wait);
  EXPECT_EQ(waited_ns(Wait::late_sender), 2 * kMs);
  EXPECT_EQ(waited_ns(Wait::collective), 0u);
}

TEST_F(WaitProfileTest, the_one_process_that_a_collective_misses_is_named) {
  description = [](WaitDiagnostics& note) {
    note.collective(5, "barrier");
    note.missing(1);
  };
  Waiter wait = waiter();
  profile->read_clock(wait, 10 * kMs, true);
  profile->read_clock(wait, 11 * kMs, false);
  profile->end(wait);
  EXPECT_EQ(waited_ns(Wait::collective), kMs);
  description = [](WaitDiagnostics& note) {
    note.collective(5, "barrier");
    note.missing(0);
    note.missing(1);
  };
  Waiter several = waiter();
  profile->read_clock(several, 20 * kMs, true);
  profile->read_clock(several, 21 * kMs, false);
  profile->end(several);
  EXPECT_EQ(waited_ns(Wait::collective), kMs);
  EXPECT_EQ(recorder->head().waited_for_any_ns, kMs);
}

}  // namespace
}  // namespace hearth::p2p
