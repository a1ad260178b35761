#include "topo/memory_nodes.h"

#include <gtest/gtest.h>
#include <hwloc.h>

#include <numeric>
#include <string>

#include "topo/machine.h"
#include "topo/relation.h"

namespace hearth::topo {
namespace {

// A recorded machine of tests/machines (hwloc's XML).
Machine recorded(const std::string& name) {
  hwloc_topology_t topology = nullptr;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  const std::string path = std::string(HEARTH_MACHINES) + "/" + name + ".xml";
  EXPECT_EQ(hwloc_topology_set_xml(topology, path.c_str()), 0) << path;
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  std::vector<int> all(static_cast<size_t>(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU)));
  std::iota(all.begin(), all.end(), 0);
  Machine machine = Machine::from_topology(topology, all);
  hwloc_topology_destroy(topology);
  return machine;
}

Machine made_up(const char* description, int processors) {
  hwloc_topology_t topology = nullptr;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  EXPECT_EQ(hwloc_topology_set_synthetic(topology, description), 0);
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  std::vector<int> all(static_cast<size_t>(processors));
  std::iota(all.begin(), all.end(), 0);
  Machine machine = Machine::from_topology(topology, all);
  hwloc_topology_destroy(topology);
  return machine;
}

using Four = std::vector<int>;  // local, low latency, high bandwidth, large

Four near(const Machine& machine, const std::vector<int>& processors) {
  const shm::RankMemory memory = memory_near(machine.memory_nodes(), processors);
  Four four;
  for (int kind = 0; kind < kMemoryKinds; ++kind)
    four.push_back(node_of_kind(memory, static_cast<MemoryKind>(kind)));
  return four;
}

const Four kNothing = {-1, -1, -1, -1};

TEST(MemoryNodes, KnightsLandingInFlatMode) {
  const Machine machine = recorded("knl_flat");
  ASSERT_EQ(machine.memory_nodes().size(), 2u);
  EXPECT_EQ(machine.memory_nodes()[1].bandwidth_mib_s, 360000);
  EXPECT_EQ(machine.memory_nodes()[1].latency_ns, 155);
  EXPECT_EQ(machine.memory_nodes()[0].bytes, uint64_t{96} << 30);
  EXPECT_EQ(near(machine, {0}), (Four{0, 0, 1, 0}));
  EXPECT_EQ(near(machine, {0, 1, 2, 3, 4, 5, 6, 7}), (Four{0, 0, 1, 0})) << "not bound, but all is near";
}

TEST(MemoryNodes, SapphireRapidsWithTwoKindsInEachPackage) {
  const Machine machine = recorded("sapphire_rapids_hbm");
  ASSERT_EQ(machine.memory_nodes().size(), 4u);
  EXPECT_EQ(near(machine, {2, 3}), (Four{0, 0, 1, 0}));
  EXPECT_EQ(near(machine, {5}), (Four{2, 2, 3, 2}));
  EXPECT_EQ(near(machine, {3, 4}), kNothing) << "of both packages: nothing is near both";
  EXPECT_EQ(machine.memory_nodes()[0].distances, (std::vector<int>{10, 13, 21, 23}));
}

TEST(MemoryNodes, TwoSocketsHaveOneKindEach) {
  const Machine machine = recorded("two_sockets");
  EXPECT_EQ(near(machine, {0, 1}), (Four{0, 0, 0, 0}));
  EXPECT_EQ(near(machine, {15}), (Four{1, 1, 1, 1}));
  EXPECT_EQ(machine.memory_nodes()[1].distances, (std::vector<int>{21, 10}));
  const auto& processors = machine.processors();
  EXPECT_EQ(relation_of(processors[0].place, processors[3].place), Relation::l3);
  EXPECT_EQ(relation_of(processors[0].place, processors[4].place), Relation::numa);
  EXPECT_EQ(relation_of(processors[0].place, processors[8].place), Relation::machine);
}

TEST(MemoryNodes, OneNodeLeavesNothingToChoose) {
  EXPECT_EQ(near(made_up("pack:1 core:2 pu:1", 2), {0}), kNothing);
  EXPECT_EQ(near(Machine::from_numbers(std::vector<int>{0, 1}), {0}), kNothing);
}

TEST(MemoryNodes, WhatIsNotToldIsNotGuessed) {
  const Machine machine = made_up("pack:1 [numa(memory=1GB)] [numa(memory=4GB)] core:2 pu:1", 2);
  EXPECT_EQ(near(machine, {1}), (Four{0, 0, 0, 1})) << "only the size is known";
  EXPECT_EQ(near(machine, {}), kNothing);
}

TEST(MemoryNodes, FastOfOneIsNotComparedWithUnknownOfTheOther) {
  std::vector<MemoryNode> nodes(2);
  nodes[0].number = 3;
  nodes[0].processors = {0, 1};
  nodes[1].number = 7;
  nodes[1].processors = {0, 1};
  nodes[1].bandwidth_mib_s = 100;
  nodes[1].latency_ns = 10;
  const std::vector<int> rank = {1};
  EXPECT_EQ(memory_near(nodes, rank).high_bandwidth, 3);
  EXPECT_EQ(memory_near(nodes, rank).low_latency, 3);
  nodes[0].bandwidth_mib_s = 50;
  nodes[0].latency_ns = 20;
  EXPECT_EQ(memory_near(nodes, rank).high_bandwidth, 7);
  EXPECT_EQ(memory_near(nodes, rank).low_latency, 7);
}

TEST(MemoryKind, HasNames) {
  for (int i = 0; i < kMemoryKinds; ++i) {
    const auto kind = static_cast<MemoryKind>(i);
    MemoryKind found = MemoryKind::local;
    EXPECT_TRUE(memory_kind_of_name(memory_kind_name(kind), found));
    EXPECT_EQ(found, kind);
  }
  MemoryKind kind = MemoryKind::local;
  EXPECT_FALSE(memory_kind_of_name("fast", kind));
}

}  // namespace
}  // namespace hearth::topo
