// Hierarchical small collectives, with threads as ranks: two levels of two, several collectives in flight on
// each rank, with flat collectives between them.
#include "coll/tree_slots.h"

#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <random>
#include <vector>

#include "coll/flat_slots.h"
#include "region_ranks.h"

namespace hearth::coll {
namespace {

constexpr int kCount = 3;

struct Part : RegionPart<SharedCollective> {
  explicit Part(CollectiveRegion& region) : tree(region), flat(region, &room) {}
  TreeSlots tree;
  FlatSlots::Room room;
  FlatSlots flat;
};

class Rank final : public RegionRank<Part> {
 public:
  using RegionRank::RegionRank;

 protected:
  std::unique_ptr<Part> make() override { return std::make_unique<Part>(*CollectiveRegion::of(comm_)); }

  void set_up(const Call& call, Part& part) override {
    if (call.other_way) {
      part.shared = &part.flat;
      describe(call, part, part.flat);
    } else {
      part.shared = &part.tree;
      describe(call, part, part.tree);
    }
  }

 private:
  template <class Meeting>
  void describe(const Call& call, Part& part, Meeting& slots) {
    int* in = part.in.data();
    int* out = part.out.data();
    Type& type = int_type();
    switch (call.what) {
      case What::barrier:
        slots.barrier();
        break;
      case What::bcast:
        slots.bcast(out, kCount, type, call.root);
        break;
      case What::allgather:
        slots.allgather(in, kCount, type, out, kCount, type);
        break;
      case What::reduce:
        slots.reduce(in, out, kCount, type, sum_, call.root);
        break;
      default:
        slots.allreduce(in, out, kCount, type, sum_);
        break;
    }
  }
};

class TreeBetweenThreads : public RegionRanks<Rank> {
 protected:
  void SetUp() override { set_up(4096); }

  static std::vector<Call> some(size_t calls, uint32_t seed) {
    constexpr What kKinds[] = {What::barrier, What::bcast, What::allgather, What::reduce, What::allreduce};
    std::vector<Call> all = mixture(calls, seed, What::barrier, [](std::mt19937&) { return kCount; });
    for (Call& call : all) call.what = kKinds[static_cast<size_t>(call.what) % std::size(kKinds)];
    return all;
  }
};

TEST_F(TreeBetweenThreads, OneAfterTheOther) {
  run(some(2000, 1), 1, 11);
}

// More collectives in flight than slots: a collective waits until its slots are free.
TEST_F(TreeBetweenThreads, ManyUnderWay) {
  for (const uint32_t seed : {2u, 3u, 4u}) run(some(700, seed), 20, seed);
}

// One-way collectives: a rank that only publishes runs ahead until its slots are used up.
TEST_F(TreeBetweenThreads, OneSpeaksAllTheTime) {
  run(std::vector<Call>(1000, {What::bcast, 1, kCount}), 12, 5);
  run(std::vector<Call>(1000, {What::reduce, 3, kCount}), 12, 6);
}

}  // namespace
}  // namespace hearth::coll
