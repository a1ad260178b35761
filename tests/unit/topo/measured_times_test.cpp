#include "topo/measured_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace hearth::topo {
namespace {

TEST(MeasuredTimes, NothingIsKnownAtFirst) {
  const MeasuredTimes times;
  EXPECT_EQ(times.between(0, 1), 0);
  EXPECT_FALSE(times.knows_all(std::vector<PeerIndex>{0, 1}));
  EXPECT_TRUE(times.knows_all(std::vector<PeerIndex>{7}));
}

TEST(MeasuredTimes, BothWaysAndOnce) {
  MeasuredTimes times;
  times.enter(5, 2, 80);
  times.enter(2, 5, 300);
  EXPECT_EQ(times.between(2, 5), 80);
  EXPECT_EQ(times.between(5, 2), 80);
}

TEST(MeasuredTimes, InTheOrderOfTheCommunicator) {
  MeasuredTimes times;
  times.enter(1, 4, 50);
  times.enter(1, 9, 200);
  EXPECT_FALSE(times.knows_all(std::vector<PeerIndex>{9, 1, 4}));
  times.enter(4, 9, 205);
  const std::vector<PeerIndex> peers = {9, 1, 4};
  ASSERT_TRUE(times.knows_all(peers));
  const Distances distances = times.distances(peers);
  EXPECT_EQ(distances.at(1, 2), 50);
  EXPECT_EQ(distances.at(0, 1), distances.at(0, 2)) << "205 is no farther than 200";
}

}  // namespace
}  // namespace hearth::topo
