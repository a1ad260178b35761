#include "topo/machine.h"

#include <gtest/gtest.h>
#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "base/os_machine.h"
#include "topo/relation.h"

namespace hearth::topo {
namespace {

std::vector<int> numbers(int first, int last) {
  std::vector<int> result(static_cast<size_t>(last - first + 1));
  std::iota(result.begin(), result.end(), first);
  return result;
}

Machine made_up(const char* description, const std::vector<int>& allowed) {
  hwloc_topology_t topology = nullptr;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  EXPECT_EQ(hwloc_topology_set_synthetic(topology, description), 0);
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  Machine machine = Machine::from_topology(topology, allowed);
  hwloc_topology_destroy(topology);
  return machine;
}

constexpr const char* kTwoSockets = "pack:2 [numa] l3:2 l2:2 core:1 pu:2";  // 16 processors, 8 cores, 4 L3s

TEST(Machine, TellsWhatProcessorsShare) {
  const Machine machine = made_up(kTwoSockets, numbers(0, 15));
  ASSERT_EQ(machine.processors().size(), 16u);
  EXPECT_EQ(machine.core_count(), 8);
  EXPECT_TRUE(machine.detailed());
  const auto& all = machine.processors();
  EXPECT_EQ(relation_of(all[0].place, all[1].place), Relation::smt);
  EXPECT_EQ(relation_of(all[0].place, all[2].place), Relation::l3);
  EXPECT_EQ(relation_of(all[0].place, all[4].place), Relation::numa);
  EXPECT_EQ(relation_of(all[0].place, all[8].place), Relation::machine);
  EXPECT_EQ(all[0].place.processor, all[0].number);
}

TEST(Machine, KeepsToTheMask) {
  const Machine machine = made_up(kTwoSockets, {3, 9, 8});
  ASSERT_EQ(machine.processors().size(), 3u);
  EXPECT_EQ(machine.core_count(), 2);
  std::set<int> found;
  for (const Processor& processor : machine.processors()) found.insert(processor.number);
  EXPECT_EQ(found, (std::set<int>{3, 8, 9}));
}

TEST(Machine, NeighboursShareMostAlsoWhenTheSystemNumbersCrosswise) {
  // The second hardware threads are numbered after all first ones, as on Linux.
  const Machine machine = made_up("pack:2 core:2 pu:2(indexes=core:pu)", numbers(0, 7));
  const auto& all = machine.processors();
  for (size_t i = 0; i < all.size(); i += 2) EXPECT_EQ(all[i].place.core, all[i + 1].place.core);
}

TEST(Machine, SeveralMemoryNodesInOneSocketAndOneWithoutProcessors) {
  const Machine machine =
      made_up("pack:1 group:2 [numa(memory=1GB)] [numa(memory=2GB)] core:2 pu:1", numbers(0, 3));
  std::set<int> nodes;
  for (const Processor& processor : machine.processors()) nodes.insert(processor.place.numa);
  EXPECT_EQ(nodes.size(), 2u) << "of two nodes with the same processors the first is taken";
}

TEST(Machine, NoCachesToldIsNoCacheShared) {
  const Machine machine = made_up("pack:1 core:4 pu:1", numbers(0, 3));
  EXPECT_EQ(machine.processors()[0].place.l3, -1);
  EXPECT_EQ(relation_of(machine.processors()[0].place, machine.processors()[1].place), Relation::numa);
}

TEST(Machine, ProcessorsThatHwlocDoesNotKnowAreStillUsed) {
  const Machine machine = made_up("pack:1 core:2 pu:1", {0, 1, 40});
  EXPECT_EQ(machine.processors().size(), 3u);
  EXPECT_EQ(machine.core_count(), 3);
}

TEST(Machine, WithoutAnyTopologyEachProcessorIsACore) {
  const Machine machine = Machine::from_numbers(numbers(4, 7));
  EXPECT_EQ(machine.processors().size(), 4u);
  EXPECT_EQ(machine.core_count(), 4);
  EXPECT_FALSE(machine.detailed());
  EXPECT_EQ(relation_of(machine.processors()[0].place, machine.processors()[1].place), Relation::unknown);
  EXPECT_EQ(Machine::from_numbers({}).processors().size(), 1u);
}

TEST(Machine, ThisOneIsWhatTheMaskSays) {
  const Machine machine = Machine::discover();
  std::vector<int> found;
  for (const Processor& processor : machine.processors()) found.push_back(processor.number);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, os::allowed_processors());
  EXPECT_EQ(std::getenv("HWLOC_PLUGINS_PATH"), nullptr) << "the ranks would inherit it";
}

TEST(CommonPlace, KeepsWhatAllShare) {
  const Machine machine = made_up(kTwoSockets, numbers(0, 15));
  const std::span<const Processor> all = machine.processors();
  const shm::RankPlace core = common_place(all.first(2));
  EXPECT_EQ(core.core, 0);
  EXPECT_EQ(core.processor, -1);
  const shm::RankPlace socket = common_place(all.first(8));
  EXPECT_EQ(socket.package, 0);
  EXPECT_EQ(socket.l3, -1);
  EXPECT_EQ(common_place(all).package, -1);
  EXPECT_EQ(common_place({}).package, -1);
}

TEST(ProcessorList, IsWrittenInRanges) {
  const Machine machine = Machine::from_numbers(std::vector<int>{9, 0, 1, 2, 7, 8, 5});
  EXPECT_EQ(processor_list(machine.processors()), "0-2,5,7-9");
  EXPECT_EQ(processor_list({}), "");
}

}  // namespace
}  // namespace hearth::topo
