// The numbers of deaths when processes of other jobs die too.
#include "abi/joint_deaths.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

namespace hearth::abi {
namespace {

/// A registry of a job of four processes.
class Home final : public shm::Deaths {
 public:
  void die(int rank) { dead_.push_back(rank); }
  uint32_t deaths() const override { return static_cast<uint32_t>(dead_.size()); }
  uint32_t death_of(int rank) const override {
    for (size_t i = 0; i < dead_.size(); ++i) {
      if (dead_[i] == rank) return static_cast<uint32_t>(i) + 1;
    }
    return 0;
  }
  void describe(int rank, char* text, size_t bytes) const override {
    std::snprintf(text, bytes, "own %d", rank);
  }
  void go_on() const override {}

 private:
  std::vector<int> dead_;
};

TEST(JointDeaths, NumbersAreInTheOrderOfDeaths) {
  Home home;
  JointDeaths deaths(home, 4);
  EXPECT_EQ(deaths.deaths(), 0u);
  home.die(2);
  deaths.note(5, "other 5");
  home.die(0);
  deaths.note(4, "other 4");
  deaths.note(4, "once more");
  EXPECT_EQ(deaths.deaths(), 4u);
  EXPECT_EQ(deaths.death_of(2), 1u);
  EXPECT_EQ(deaths.death_of(5), 2u);
  EXPECT_EQ(deaths.death_of(0), 3u);
  EXPECT_EQ(deaths.death_of(4), 4u);
  EXPECT_EQ(deaths.death_of(1), 0u);
  EXPECT_EQ(deaths.death_of(6), 0u);
  char text[32];
  deaths.describe(5, text, sizeof text);
  EXPECT_STREQ(text, "other 5");
  deaths.describe(0, text, sizeof text);
  EXPECT_STREQ(text, "own 0");
}

TEST(JointDeaths, CountsThoseOfTheSegment) {
  Home home;
  JointDeaths deaths(home, 4);
  home.die(2);
  deaths.note(5, "");
  home.die(0);
  EXPECT_EQ(deaths.in_segment(0), 0u);
  EXPECT_EQ(deaths.in_segment(1), 1u);
  EXPECT_EQ(deaths.in_segment(2), 1u);
  EXPECT_EQ(deaths.in_segment(3), 2u);
}

TEST(JointDeaths, AForgottenIndexIsAlive) {
  Home home;
  JointDeaths deaths(home, 4);
  deaths.note(5, "first");
  deaths.forget(5);
  EXPECT_EQ(deaths.death_of(5), 0u);
  EXPECT_EQ(deaths.deaths(), 1u);
  deaths.note(5, "second");
  EXPECT_EQ(deaths.death_of(5), 2u);
}

}  // namespace
}  // namespace hearth::abi
