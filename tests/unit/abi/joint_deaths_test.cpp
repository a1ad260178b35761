// The numbers of deaths when processes of other jobs die too.
#include "abi/joint_deaths.h"

#include <gtest/gtest.h>

#include "../scripted_deaths.h"

namespace hearth::abi {
namespace {

TEST(JointDeaths, NumbersAreInTheOrderOfDeaths) {
  shm::ScriptedDeaths home;
  JointDeaths deaths(home, 4);
  EXPECT_EQ(deaths.deaths(), 0u);
  home.add(2);
  deaths.note(5, "other 5");
  home.add(0);
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
  EXPECT_STREQ(text, "process 0 has died");
}

TEST(JointDeaths, CountsThoseOfTheSegment) {
  shm::ScriptedDeaths home;
  JointDeaths deaths(home, 4);
  home.add(2);
  deaths.note(5, "");
  home.add(0);
  EXPECT_EQ(deaths.in_segment(0), 0u);
  EXPECT_EQ(deaths.in_segment(1), 1u);
  EXPECT_EQ(deaths.in_segment(2), 1u);
  EXPECT_EQ(deaths.in_segment(3), 2u);
}

TEST(JointDeaths, AForgottenIndexIsAlive) {
  shm::ScriptedDeaths home;
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
