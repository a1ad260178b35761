#include "shm/liveness.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <thread>
#include <vector>

#include "shm/corruption.h"

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
  liveness.publish(2, DeathCause::signal, SIGSEGV);
  liveness.publish(0, DeathCause::exit_code, 7);
  EXPECT_EQ(liveness.deaths(), 2u);
  EXPECT_EQ(liveness.death_of(2), 1u);
  EXPECT_EQ(liveness.death_of(0), 2u);
  EXPECT_EQ(liveness.death_of(1), 0u);
}

TEST_F(LivenessTest, ADeathThatIsToldTwiceIsOne) {
  const Liveness liveness(segment_);
  liveness.publish(1, DeathCause::no_finalize, 0);
  liveness.publish(1, DeathCause::no_finalize, 0);
  liveness.publish(2, DeathCause::no_finalize, 0);
  EXPECT_EQ(liveness.deaths(), 2u);
  EXPECT_EQ(liveness.death_of(1), 1u);
  EXPECT_EQ(liveness.death_of(2), 2u);
}

// The reporter that claimed the number died before it was complete. The next reporter completes it.
TEST_F(LivenessTest, AnotherOneCompletesWhatWasBegun) {
  const Liveness liveness(segment_);
  liveness.publish(0, DeathCause::no_finalize, 0);
  segment_.job().deaths = DeathCount{1}.with(2).word;
  EXPECT_EQ(liveness.deaths(), 1u);
  liveness.publish(1, DeathCause::no_finalize, 0);
  EXPECT_EQ(liveness.death_of(2), 2u);
  EXPECT_EQ(liveness.death_of(1), 3u);
  EXPECT_EQ(liveness.deaths(), 3u);
}

TEST_F(LivenessTest, ManyThatTellTheSameDeathsAgreeOnTheirNumbers) {
  constexpr int kRanks = 24;
  for (int round = 0; round < 50; ++round) {
    Segment segment;
    ASSERT_TRUE(Segment::create(SegmentPlan::for_ranks(kRanks), segment).ok());
    const Liveness liveness(segment);
    std::vector<std::thread> tellers;
    for (int teller = 0; teller < 4; ++teller) {
      tellers.emplace_back([&liveness, teller] {
        for (int i = 0; i < kRanks; ++i) {
          liveness.publish((i * (teller % 2 == 0 ? 5 : 7) + teller) % kRanks, DeathCause::no_finalize, 0);
          // Every counted death has a number.
          const uint32_t deaths = liveness.deaths();
          uint32_t numbered = 0;
          for (int rank = 0; rank < kRanks; ++rank) numbered += liveness.death_of(rank) != 0 ? 1 : 0;
          EXPECT_GE(numbered, deaths);
        }
      });
    }
    for (std::thread& teller : tellers) teller.join();
    EXPECT_EQ(liveness.deaths(), static_cast<uint32_t>(kRanks));
    std::set<uint32_t> numbers;
    for (int rank = 0; rank < kRanks; ++rank) numbers.insert(liveness.death_of(rank));
    EXPECT_EQ(numbers.size(), static_cast<size_t>(kRanks));
    EXPECT_EQ(*numbers.begin(), 1u);
    EXPECT_EQ(*numbers.rbegin(), static_cast<uint32_t>(kRanks));
  }
}

TEST_F(LivenessTest, AClaimOfARankThatIsNotThereIsDamage) {
  struct Corruption {};
  set_corruption_handler([](Status) { throw Corruption(); });
  segment_.job().deaths = DeathCount{0}.with(3).word;
  EXPECT_THROW(Liveness(segment_).publish(1, DeathCause::signal, SIGKILL), Corruption);
  set_corruption_handler(nullptr);
}

TEST_F(LivenessTest, SleepersAreWoken) {
  segment_.rank(1).asleep = 1;
  Liveness(segment_).publish(2, DeathCause::signal, SIGKILL);
  EXPECT_EQ(segment_.rank(1).asleep, 0u);
}

TEST_F(LivenessTest, EachCauseHasItsWords) {
  const Liveness liveness(segment_);
  segment_.rank(1).pid = 4711;
  liveness.publish(1, DeathCause::signal, SIGSEGV);
  EXPECT_EQ(words(1), "rank 1 of MPI_COMM_WORLD (process 4711) was killed by SIGSEGV");
  liveness.publish(0, DeathCause::out_of_memory, SIGKILL);
  EXPECT_NE(words(0).find("memory ran out"), std::string::npos);
  liveness.publish(2, DeathCause::exit_code, 7);
  EXPECT_NE(words(2).find("exit code 7"), std::string::npos);
}

// At the end of a job a rank is only marked: no survivor acts on it.
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
