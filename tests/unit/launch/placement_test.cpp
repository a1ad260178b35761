#include "launch/placement.h"

#include <gtest/gtest.h>
#include <hwloc.h>

#include <numeric>

#include "topo/relation.h"

namespace hearth::launch {
namespace {

using Numbers = std::vector<int>;
using topo::Machine;
using topo::Relation;

Machine made_up(const char* description, int processors) {
  hwloc_topology_t topology = nullptr;
  EXPECT_EQ(hwloc_topology_init(&topology), 0);
  EXPECT_EQ(hwloc_topology_set_synthetic(topology, description), 0);
  EXPECT_EQ(hwloc_topology_load(topology), 0);
  Numbers allowed(static_cast<size_t>(processors));
  std::iota(allowed.begin(), allowed.end(), 0);
  Machine machine = Machine::from_topology(topology, allowed);
  hwloc_topology_destroy(topology);
  return machine;
}

// 16 processors: two packages of two L3s of two cores of two threads, numbered consecutively.
Machine two_sockets() {
  return made_up("pack:2 [numa] l3:2 core:2 pu:2", 16);
}

std::vector<Numbers> bindings(const Machine& machine, PlacementRequest request, int ranks,
                              int to_share = 16) {
  std::vector<Numbers> result;
  for (const Binding& binding : bind_ranks(machine, request, ranks, to_share))
    result.push_back(binding.processors);
  return result;
}

TEST(Placement, SharesTheCoresEvenly) {
  const Machine machine = two_sockets();
  EXPECT_EQ(bindings(machine, {}, 8),
            (std::vector<Numbers>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(bindings(machine, {}, 2),
            (std::vector<Numbers>{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
  EXPECT_EQ(bindings(machine, {}, 3),
            (std::vector<Numbers>{{0, 1, 2, 3}, {4, 5, 6, 7, 8, 9}, {10, 11, 12, 13, 14, 15}}));
  EXPECT_EQ(bindings(machine, {}, 1), (std::vector<Numbers>{{}})) << "all of it needs no binding";
}

TEST(Placement, MoreRanksThanCoresOrQuotaAreNotBound) {
  const Machine machine = two_sockets();
  EXPECT_EQ(bindings(machine, {}, 9), std::vector<Numbers>(9));
  EXPECT_EQ(bindings(machine, {}, 4, 3), std::vector<Numbers>(4));
}

TEST(Placement, UnboundRanksKnowWhatAllProcessorsShare) {
  const Machine one_l3 = made_up("pack:1 [numa] l3:1 core:2 pu:1", 2);
  for (const Binding& binding : bind_ranks(one_l3, {}, 3, 2)) {
    EXPECT_EQ(binding.place.l3, 0);
    EXPECT_EQ(binding.place.core, -1);
  }
}

TEST(Placement, BoundToCoresOneAfterTheOther) {
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::core}, 3),
            (std::vector<Numbers>{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::core, .cores_per_rank = 2}, 2),
            (std::vector<Numbers>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  // Wraps around if there are too few processors.
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::core}, 9)[8], (Numbers{0, 1}));
}

TEST(Placement, BoundToHardwareThreads) {
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::hwthread, .map = Level::hwthread}, 3),
            (std::vector<Numbers>{{0}, {1}, {2}}));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::hwthread, .map = Level::core}, 2),
            (std::vector<Numbers>{{0}, {2}}));
}

TEST(Placement, DealtOutOverPackages) {
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::core, .map = Level::package}, 4),
            (std::vector<Numbers>{{0, 1}, {8, 9}, {2, 3}, {10, 11}}));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::core, .map = Level::l3}, 5),
            (std::vector<Numbers>{{0, 1}, {4, 5}, {8, 9}, {12, 13}, {2, 3}}));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::core, .map = Level::package, .ranks_per_object = 2}, 4),
            (std::vector<Numbers>{{0, 1}, {2, 3}, {8, 9}, {10, 11}}));
}

TEST(Placement, BoundToWholeParts) {
  const Numbers left = {0, 1, 2, 3, 4, 5, 6, 7};
  const Numbers right = {8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::package}, 3), (std::vector<Numbers>{left, right, left}));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::numa}, 2), (std::vector<Numbers>{left, right}));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::l3, .map = Level::core}, 3),
            (std::vector<Numbers>{{0, 1, 2, 3}, {0, 1, 2, 3}, {4, 5, 6, 7}}));
}

TEST(Placement, SecondThreadsComeWhenCoresAreUsedUp) {
  const std::vector<Numbers> all = bindings(two_sockets(), {.bind = Level::hwthread, .map = Level::core}, 16);
  EXPECT_EQ(all[7], Numbers{14});
  EXPECT_EQ(all[8], Numbers{1});
  EXPECT_EQ(all[15], Numbers{15});
}

TEST(Placement, SpreadIsPackagesThenCachesThenCores) {
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::core, .spread = true}, 8),
            (std::vector<Numbers>{{0, 1}, {8, 9}, {4, 5}, {12, 13}, {2, 3}, {10, 11}, {6, 7}, {14, 15}}));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::core, .spread = true, .cores_per_rank = 2}, 3),
            (std::vector<Numbers>{{0, 1, 2, 3}, {8, 9, 10, 11}, {4, 5, 6, 7}}));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::l3, .spread = true}, 2),
            (std::vector<Numbers>{{0, 1, 2, 3}, {8, 9, 10, 11}}));
  const std::vector<Numbers> threads = bindings(two_sockets(), {.bind = Level::hwthread, .spread = true}, 9);
  EXPECT_EQ(threads[1], Numbers{8});
  EXPECT_EQ(threads[8], Numbers{1});
}

TEST(Placement, SpreadWithoutBindingIsSharesFarApart) {
  EXPECT_EQ(bindings(two_sockets(), {.spread = true}, 4),
            (std::vector<Numbers>{{0, 1, 2, 3}, {8, 9, 10, 11}, {4, 5, 6, 7}, {12, 13, 14, 15}}));
}

TEST(Placement, NamedProcessorsGoRoundRobin) {
  EXPECT_EQ(bindings(two_sockets(), {.processor_sets = {{0, 5}, {9}}}, 3),
            (std::vector<Numbers>{{0, 5}, {9}, {0, 5}}));
  const Machine crosswise = made_up("pack:2 core:2 pu:2(indexes=core:pu)", 8);
  EXPECT_EQ(bindings(crosswise, {.by_number = true}, 9),
            (std::vector<Numbers>{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {0}}));
}

TEST(Placement, NamedProcessorsMustBeOurs) {
  EXPECT_TRUE(check_processors(two_sockets(), {.processor_sets = {{0, 15}}}).ok());
  EXPECT_FALSE(check_processors(two_sockets(), {.processor_sets = {{0}, {16}}}).ok());
  EXPECT_NE(std::string(last_failure_text()).find("processor 16 is not one that this job may use; these are"),
            std::string::npos);
  EXPECT_FALSE(check_processors(two_sockets(), {.only_processors = {3, 99}}).ok());
}

TEST(Placement, NoneIsNone) {
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::none}, 2), std::vector<Numbers>(2));
  EXPECT_EQ(bindings(two_sockets(), {.bind = Level::none, .map = Level::package}, 2),
            std::vector<Numbers>(2));
}

TEST(Placement, PlacesFollowTheBindings) {
  const std::vector<Binding> all = bind_ranks(two_sockets(), {}, 8, 16);
  EXPECT_EQ(topo::relation_of(all[0].place, all[1].place), Relation::l3);
  EXPECT_EQ(topo::relation_of(all[0].place, all[2].place), Relation::numa);
  EXPECT_EQ(topo::relation_of(all[0].place, all[7].place), Relation::machine);
  EXPECT_EQ(all[1].description, "bound to processors 2-3, core 1, l3 0, numa 0, package 0");
}

TEST(Placement, WorksWithoutTopology) {
  const Machine machine = Machine::from_numbers(Numbers{0, 1, 4, 5});
  EXPECT_EQ(bindings(machine, {}, 2), (std::vector<Numbers>{{0, 1}, {4, 5}}));
  EXPECT_EQ(bindings(machine, {.bind = Level::package}, 2), std::vector<Numbers>(2));
  EXPECT_EQ(bindings(machine, {.bind = Level::core}, 4), (std::vector<Numbers>{{0}, {1}, {4}, {5}}));
  EXPECT_EQ(bind_ranks(machine, {}, 4, 4)[0].description, "bound to processor 0");
}

TEST(Placement, ObjectsAreCounted) {
  EXPECT_EQ(object_count(two_sockets(), Level::package), 2);
  EXPECT_EQ(object_count(two_sockets(), Level::l3), 4);
  EXPECT_EQ(object_count(two_sockets(), Level::core), 8);
  EXPECT_EQ(object_count(two_sockets(), Level::machine), 1);
}

}  // namespace
}  // namespace hearth::launch
