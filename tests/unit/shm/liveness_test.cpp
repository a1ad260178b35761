#include "shm/liveness.h"

#include <gtest/gtest.h>

#include <csignal>

namespace hearth::shm {
namespace {

class LivenessTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Segment::create(SegmentPlan::for_ranks(3), segment_).ok()); }

  std::string words(int rank) const {
    char text[160];
    Liveness(segment_).describe(rank, text, sizeof text);
    return text;
  }

  Segment segment_;
};

TEST_F(LivenessTest, DeathsAreNumberedInTheOrderInWhichTheyAreTold) {
  const Liveness liveness(segment_);
  EXPECT_EQ(liveness.deaths(), 0u);
  EXPECT_EQ(liveness.death_of(2), 0u);
  liveness.tell(2, DeathCause::signal, SIGSEGV);
  liveness.tell(0, DeathCause::exit_code, 7);
  EXPECT_EQ(liveness.deaths(), 2u);
  EXPECT_EQ(liveness.death_of(2), 1u);
  EXPECT_EQ(liveness.death_of(0), 2u);
  EXPECT_EQ(liveness.death_of(1), 0u);
}

TEST_F(LivenessTest, SleepersAreWoken) {
  segment_.rank(1).asleep = 1;
  Liveness(segment_).tell(2, DeathCause::signal, SIGKILL);
  EXPECT_EQ(segment_.rank(1).asleep, 0u);
}

TEST_F(LivenessTest, EachCauseHasItsWords) {
  const Liveness liveness(segment_);
  segment_.rank(1).pid = 4711;
  liveness.tell(1, DeathCause::signal, SIGSEGV);
  EXPECT_EQ(words(1), "rank 1 of MPI_COMM_WORLD (process 4711) was killed by SIGSEGV");
  liveness.tell(0, DeathCause::out_of_memory, SIGKILL);
  EXPECT_NE(words(0).find("memory ran out"), std::string::npos);
  liveness.tell(2, DeathCause::exit_code, 7);
  EXPECT_NE(words(2).find("exit code 7"), std::string::npos);
}

// A job that ends: nobody is to act on it.
TEST_F(LivenessTest, AMarkIsNoDeathThatIsTold) {
  const Liveness liveness(segment_);
  liveness.mark(1);
  EXPECT_EQ(liveness.deaths(), 0u);
  EXPECT_GT(liveness.death_of(1), liveness.deaths());
}

TEST_F(LivenessTest, SurvivorsSayThatTheyGoOn) {
  const Liveness liveness(segment_);
  EXPECT_FALSE(liveness.goes_on());
  liveness.go_on();
  EXPECT_TRUE(liveness.goes_on());
}

}  // namespace
}  // namespace hearth::shm
