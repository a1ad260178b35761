#include "launch/drawing.h"

#include <gtest/gtest.h>
#include <hwloc.h>

#include <numeric>
#include <sstream>

namespace hearth::launch {
namespace {

topo::Machine made_up(const char* description, int processors) {
  hwloc_topology_t topology = nullptr;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  EXPECT_EQ(hwloc_topology_set_synthetic(topology, description), 0);
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  std::vector<int> allowed(static_cast<size_t>(processors));
  std::iota(allowed.begin(), allowed.end(), 0);
  topo::Machine machine = topo::Machine::from_topology(topology, allowed);
  hwloc_topology_destroy(topology);
  return machine;
}

std::string drawn(const topo::Machine& machine, const PlacementRequest& request, int ranks) {
  return draw(machine, bind_ranks(machine, request, ranks, static_cast<int>(machine.processors().size())));
}

TEST(Drawing, ShowsTheProcessorsOfEachRank) {
  const topo::Machine machine = made_up("pack:2 [numa(memory=2147483648)] l3:2 core:2 pu:1", 8);
  EXPECT_EQ(drawn(machine, {}, 3),
            "+- package 0 ----------+\n"
            "| memory node 0, 2 GiB |\n"
            "|   l3 0  [0][0]       |\n"
            "|   l3 1  [1][1]       |\n"
            "+----------------------+\n"
            "+- package 1 ----------+\n"
            "| memory node 1, 2 GiB |\n"
            "|   l3 2  [1][2]       |\n"
            "|   l3 3  [2][2]       |\n"
            "+----------------------+\n");
}

TEST(Drawing, ThreadsOfOneCoreApart) {
  const topo::Machine machine = made_up("pack:1 [numa(memory=1073741824)] l3:1 core:2 pu:2", 4);
  EXPECT_EQ(drawn(machine, {.bind = Level::hwthread, .map = Level::hwthread}, 3),
            "+- package 0 ----------+\n"
            "| memory node 0, 1 GiB |\n"
            "|   l3 0  [0/1][2/.]   |\n"
            "+----------------------+\n");
}

TEST(Drawing, RanksThatAreNotBound) {
  const topo::Machine machine = topo::Machine::from_numbers(std::vector<int>{0, 1});
  EXPECT_EQ(drawn(machine, {}, 3),
            "+- machine -------+\n"
            "|   cores  [.][.] |\n"
            "+-----------------+\n"
            "anywhere: ranks 0-2\n");
}

TEST(Drawing, FitsOnAScreen) {
  const topo::Machine machine = made_up("pack:1 l3:1 core:128 pu:2", 256);
  std::istringstream lines(drawn(machine, {.bind = Level::core}, 128));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Drawing, MemoryWithoutProcessorsIsShown) {
  const topo::Machine machine = made_up("pack:1 [numa(memory=4GB)] [numa(memory=1GB)] core:2 pu:1", 2);
  const std::string text = drawn(machine, {}, 2);
  EXPECT_NE(text.find("memory node 0"), std::string::npos);
  EXPECT_NE(text.find("memory node 1"), std::string::npos);
}

}  // namespace
}  // namespace hearth::launch
