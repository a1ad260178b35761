#include "launch/traffic_file.h"

#include <gtest/gtest.h>
#include <hwloc.h>

#include <algorithm>
#include <numeric>

namespace hearth::launch {
namespace {

using topo::Traffic;

std::vector<Traffic> read(const std::string& text, int ranks) {
  std::vector<Traffic> traffic;
  EXPECT_TRUE(read_traffic("m.json", text, ranks, traffic).ok()) << last_failure_text();
  return traffic;
}

std::string refusal(const std::string& text, int ranks = 2) {
  std::vector<Traffic> traffic;
  EXPECT_FALSE(read_traffic("m.json", text, ranks, traffic).ok()) << text;
  return last_failure_text();
}

TEST(TrafficFile, BothDirectionsCount) {
  const std::vector<Traffic> traffic =
      read(R"({"ranks": 3, "bytes": [[9, 10, 0], [5, 0, 0], [7, 0, 1]], "program": "a.out"})", 3);
  ASSERT_EQ(traffic.size(), 2u);
  EXPECT_EQ(traffic[0].one, 0);
  EXPECT_EQ(traffic[0].other, 1);
  EXPECT_EQ(traffic[0].weight, 15);
  EXPECT_EQ(traffic[1].other, 2);
  EXPECT_EQ(traffic[1].weight, 7);
}

TEST(TrafficFile, HugeNumbersAreScaledDown) {
  const std::vector<Traffic> traffic =
      read(R"({"ranks": 3, "bytes": [[0, 1.8e19, 9e18], [0, 0, 0], [0, 0, 0]]})", 3);
  ASSERT_EQ(traffic.size(), 2u);
  EXPECT_NEAR(static_cast<double>(traffic[0].weight) / static_cast<double>(traffic[1].weight), 2.0, 0.01);
  EXPECT_LT(traffic[0].weight, int64_t{1} << 52);
}

TEST(TrafficFile, WhatIsWrongIsSaid) {
  EXPECT_NE(refusal("ranks: 2").find("is no JSON object"), std::string::npos);
  EXPECT_NE(refusal("[]").find("is no JSON object"), std::string::npos);
  EXPECT_NE(refusal(R"({"bytes": []})").find("needs \"ranks\""), std::string::npos);
  EXPECT_NE(refusal(R"({"ranks": "2", "bytes": []})").find("needs \"ranks\""), std::string::npos);
  EXPECT_NE(refusal(R"({"ranks": 2})").find("and \"bytes\""), std::string::npos);
  EXPECT_NE(refusal(R"({"ranks": 3, "bytes": []})").find("is about 3 ranks, this job has 2"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"ranks": 2, "bytes": [[0, 1]]})").find("one row"), std::string::npos);
  EXPECT_NE(refusal(R"({"ranks": 2, "bytes": [[0, 1], [1]]})").find("2 numbers in row 1"), std::string::npos);
  EXPECT_NE(refusal(R"({"ranks": 2, "bytes": [[0, "x"], [1, 0]]})").find("in row 0"), std::string::npos);
  EXPECT_NE(refusal(R"({"ranks": 2, "bytes": [[0, 1], [-1, 0]]})").find("in row 1"), std::string::npos);
}

class Placed : public testing::Test {
 protected:
  void SetUp() override {
    hwloc_topology_t topology = nullptr;
    ASSERT_EQ(hwloc_topology_init(&topology), 0);
    ASSERT_EQ(hwloc_topology_set_synthetic(topology, "pack:2 [numa] l3:2 core:4 pu:1"), 0);
    ASSERT_EQ(hwloc_topology_load(topology), 0);
    std::vector<int> allowed(16);
    std::iota(allowed.begin(), allowed.end(), 0);
    machine_ = topo::Machine::from_topology(topology, allowed);
    hwloc_topology_destroy(topology);
    bindings_ = bind_ranks(machine_, {.bind = Level::core}, 16, 16);
  }

  std::vector<int> processors() const {
    std::vector<int> result;
    for (const Binding& binding : bindings_) result.push_back(binding.processors.at(0));
    return result;
  }

  topo::Machine machine_;
  std::vector<Binding> bindings_;
};

// Rank r communicates with r + 8 only: in the default order all traffic crosses the packages.
TEST_F(Placed, PartnersBecomeNeighbours) {
  std::vector<Traffic> traffic;
  for (int rank = 0; rank < 8; ++rank) traffic.push_back({rank, rank + 8, 1000});
  const PlacementGain gain = place_by(machine_, traffic, bindings_);
  for (int rank = 0; rank < 8; ++rank) {
    const auto one = static_cast<size_t>(rank);
    EXPECT_EQ(bindings_[one].place.l3, bindings_[one + 8].place.l3) << rank;
  }
  EXPECT_EQ(gain.before, 8 * 1000 * topo::distance_of(topo::Relation::machine));
  EXPECT_EQ(gain.after, 8 * 1000 * topo::distance_of(topo::Relation::l3));
  std::vector<int> all = processors();
  std::sort(all.begin(), all.end());
  for (int processor = 0; processor < 16; ++processor)
    EXPECT_EQ(all[static_cast<size_t>(processor)], processor);
}

TEST_F(Placed, NeverWorseThanTheDefaultOrder) {
  const std::vector<int> before = processors();
  std::vector<Traffic> neighbours;
  for (int rank = 0; rank + 1 < 16; ++rank) neighbours.push_back({rank, rank + 1, 50});
  EXPECT_EQ(place_by(machine_, neighbours, bindings_).after,
            place_by(machine_, neighbours, bindings_).before);
  EXPECT_EQ(processors(), before) << "what is best already stays";
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<Traffic> traffic;
    for (int one = 0; one < 16; ++one) {
      for (int other = one + 1; other < 16; ++other)
        traffic.push_back({one, other, static_cast<int64_t>((one * 31 + other * 17) * seed % 97)});
    }
    const PlacementGain gain = place_by(machine_, traffic, bindings_);
    EXPECT_LE(gain.after, gain.before) << seed;
  }
}

}  // namespace
}  // namespace hearth::launch
