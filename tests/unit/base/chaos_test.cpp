#include "base/chaos.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "base/os_io.h"
#include "base/os_memory.h"
#include "base/os_wait.h"
#include "base/param.h"

namespace hearth::chaos {
namespace {

class Chaos : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("HEARTH_SHM_BUFFER_COUNT", "77", 1); }
  void TearDown() override { begin(Plan{}, 0); }

  static Plan plan_of(const std::string& text) {
    Plan plan;
    EXPECT_TRUE(parse(text, plan).ok()) << last_failure_text();
    return plan;
  }
  /// The first draws of this rank with this plan.
  static std::vector<size_t> draws(const std::string& text, int rank) {
    begin(plan_of(text), rank);
    std::vector<size_t> drawn;
    for (int i = 0; i < 40; ++i) drawn.push_back(draw(1000));
    return drawn;
  }
};

TEST_F(Chaos, ReadsWhatIsAskedFor) {
  Plan plan = plan_of("12");
  EXPECT_TRUE(plan.disorder);
  EXPECT_EQ(plan.seed, 12u);
  plan = plan_of("seed=3,fail=memfd:4,rank=2");
  EXPECT_TRUE(plan.disorder);
  EXPECT_EQ(plan.fail, Call::memfd);
  EXPECT_EQ(plan.fail_at, 4u);
  EXPECT_EQ(plan.rank, 2);
  plan = plan_of("fail=any:1,rank=mpiexec");
  EXPECT_FALSE(plan.disorder);
  EXPECT_EQ(plan.fail, Call::count_);
  EXPECT_EQ(plan.rank, Plan::kLauncher);
  plan = plan_of("kill=buffer_taken:7");
  EXPECT_EQ(plan.kill, Point::buffer_taken);
  EXPECT_EQ(plan.kill_at, 7u);
  EXPECT_EQ(plan.rank, Plan::kEveryRank);
}

TEST_F(Chaos, SaysWhatItCannotRead) {
  Plan plan;
  for (const char* text : {"", "seed=", "seed=x", "-1", "fail=memfd", "fail=memfd:0", "fail=:1", "kill=3",
                           "rank=all", "speed=3", "seed=1,,", "seed=99999999999999999999"}) {
    EXPECT_FALSE(parse(text, plan).ok()) << text;
  }
  EXPECT_FALSE(parse("fail=disk:1", plan).ok());
  EXPECT_NE(std::strstr(last_failure_text(), "memfd"), nullptr) << "it must say what there is";
  EXPECT_FALSE(parse("kill=lunch:1", plan).ok());
  EXPECT_NE(std::strstr(last_failure_text(), "buffer_taken"), nullptr);
}

TEST_F(Chaos, FailsOneCallOfOneKind) {
  testing::internal::CaptureStderr();
  begin(plan_of("fail=memfd:2"), 0);
  const os::Descriptor first(os::create_sparse_memory("chaos", 4096));
  const os::Descriptor second(os::create_sparse_memory("chaos", 4096));
  EXPECT_EQ(errno, ENOSYS);
  const os::Descriptor third(os::create_sparse_memory("chaos", 4096));
  EXPECT_TRUE(first.open());
  EXPECT_FALSE(second.open());
  EXPECT_TRUE(third.open());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("chaos: rank 0: call 2, memfd, fails with"),
            std::string::npos);
}

TEST_F(Chaos, LeavesOtherRanksAlone) {
  for (const char* text : {"fail=memfd:1,rank=1", "fail=memfd:1,rank=mpiexec"}) {
    begin(plan_of(text), 0);
    EXPECT_TRUE(os::Descriptor(os::create_shared_memory("chaos", 4096)).open()) << text;
  }
  begin(plan_of("fail=memfd:1"), Plan::kLauncher);
  EXPECT_TRUE(os::Descriptor(os::create_shared_memory("chaos", 4096)).open()) << "ranks are meant";
}

TEST_F(Chaos, AnyCallsAreCountedTogether) {
  begin(plan_of("fail=any:2"), 0);
  void* first = os::map_private(4096);
  EXPECT_NE(first, nullptr);
  EXPECT_FALSE(os::drop_private_pages(first, 4096)) << "another kind";
  EXPECT_TRUE(os::drop_private_pages(first, 4096));
  os::release(first, 4096);
}

TEST_F(Chaos, OneSeedGivesOneRankTheSameNumbers) {
  const std::vector<size_t> drawn = draws("5", 1);
  EXPECT_GT((std::set<size_t>(drawn.begin(), drawn.end()).size()), 20u);
  EXPECT_NE(draws("5", 2), drawn);
  EXPECT_NE(draws("6", 1), drawn);
}

TEST_F(Chaos, IsNotThereUnlessAskedFor) {
  for (int i = 0; i < 100; ++i) {
    at(Point::waiting);
    EXPECT_FALSE(refuses(Call::map));
    EXPECT_EQ(draw(1000), 0u);
    EXPECT_EQ(shortened(1000), 1000u);
  }
  EXPECT_FALSE(disables_fast_path());
}

TEST_F(Chaos, ShortCopiesMoveSomething) {
  begin(plan_of("9"), 0);
  bool some_short = false;
  for (int i = 0; i < 100; ++i) {
    const size_t bytes = shortened(1000);
    EXPECT_GE(bytes, 1u);
    EXPECT_LE(bytes, 1000u);
    some_short |= bytes < 1000;
    EXPECT_EQ(shortened(1), 1u);
    at(Point::waiting);  // only delays
  }
  EXPECT_TRUE(some_short);
}

TEST_F(Chaos, KillsAtThePassageThatIsNamed) {
  EXPECT_EXIT(
      {
        begin(plan_of("kill=asleep:3"), 0);
        at(Point::asleep);
        at(Point::waiting);
        at(Point::asleep);
        at(Point::waiting);
        os::write_some(2, "so far", 6);
        at(Point::asleep);
        os::write_some(2, "too far", 7);
      },
      testing::KilledBySignal(SIGKILL), "^so farchaos: rank 0 is killed at asleep, passage 3\n$");
}

// Must be last: the changed parameters stay.
TEST_F(Chaos, ChangesParametersThatAreNotSet) {
  std::set<uint64_t> rings;
  for (int seed = 0; seed < 8; ++seed) {
    begin(plan_of(std::to_string(seed)), 3);
    rings.insert(param::get_bytes(param::Id::shm_ring_bytes));
    EXPECT_EQ(param::get_count(param::Id::shm_buffer_count), 77);
  }
  for (const uint64_t bytes : rings) EXPECT_GE(bytes, 1024u);
  EXPECT_EQ(rings.size(), 1u) << "a process begins once: what was changed counts as set";
}

}  // namespace
}  // namespace hearth::chaos
