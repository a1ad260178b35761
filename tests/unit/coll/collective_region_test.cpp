// Life cycle of collective regions: taken, left, cleared and taken again, with threads as ranks.
#include "coll/collective_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/engine.h"
#include "shm/node.h"
#include "transport/shm_transport.h"
#include "tune/threshold.h"

namespace hearth::coll {
namespace {

using objects::Comm;
using objects::kNoRegion;
using shm::RegionState;

constexpr int kRanks = 5;
constexpr int kRegions = 3;

class CollectiveRegions : public testing::Test {
 protected:
  void SetUp() override { make_segment(8192); }
  void make_segment(uint64_t pipeline_bytes) {
    shm::SegmentPlan plan;
    plan.rank_count = kRanks;
    plan.ring_lines = 64;
    plan.buffer_bytes = 4096;
    plan.buffer_count = 4;
    plan.region_count = kRegions;
    plan.pipeline_bytes = pipeline_bytes;
    ASSERT_TRUE(shm::Segment::create(plan, segment_).ok()) << last_failure_text();
    nodes_.clear();
    for (int rank = 0; rank < kRanks; ++rank) nodes_.emplace_back(segment_, rank);
    be(0);
  }
  void TearDown() override { shm::process_node = nullptr; }
  /// Continues as this process, which has received no id yet.
  void be(int rank) {
    shm::process_node = &nodes_[static_cast<size_t>(rank)];
    pools_[static_cast<size_t>(rank)].emplace(&nodes_[static_cast<size_t>(rank)]);
    use_regions(*pools_[static_cast<size_t>(rank)]);
  }

  /// The communicator object of process `rank`, with the first `size` processes as members.
  static Comm* make_comm(int32_t region, int rank, int size) {
    objects::Group* group = objects::pools.groups.create();
    for (int peer = 0; peer < size; ++peer) group->peers.push_back(peer);
    group->index(rank);
    Comm* comm = objects::pools.comms.create();
    comm->group = group;
    comm->rank = rank;
    comm->size = comm->peer_count = size;
    comm->peers = group->peers.data();
    comm->region = region;
    return comm;
  }

  bool is_clear(int32_t told) {
    const int region = RegionPool::index_of(told);
    static const shm::RankSlots kClear = {};
    for (int rank = 0; rank < kRanks; ++rank) {
      if (std::memcmp(&segment_.rank_slots(region, rank), &kClear, sizeof kClear) != 0) return false;
    }
    return std::ranges::all_of(segment_.used_slots(region), [](uint64_t word) { return word == 0; });
  }

  static int32_t take(int members) {
    objects::Peers all;
    for (int peer = 0; peer < members; ++peer) all.push_back(peer);
    return region_pool().take(all);
  }

  /// Bit i is set if region i is taken.
  uint64_t regions_taken() const {
    uint64_t bits = 0;
    for (int region = 0; region < kRegions; ++region) {
      if (RegionState{segment_.job().regions[region]}.stage() != RegionState::kFree)
        bits |= uint64_t{1} << region;
    }
    return bits;
  }
  uint64_t& present_bits(int32_t region) const { return segment_.present(RegionPool::index_of(region))[0]; }
  int present(int32_t region) const { return std::popcount(present_bits(region)); }
  shm::RankSlots& rank_slots(int32_t region, int rank) const {
    return segment_.rank_slots(RegionPool::index_of(region), rank);
  }
  uint64_t& used_bits(int32_t region) const { return segment_.used_slots(RegionPool::index_of(region))[0]; }
  /// The state of a region whose `process` dies during `stage`.
  void abandon(int32_t region, RegionState::Stage stage, int process) {
    uint64_t& word = segment_.job().regions[RegionPool::index_of(region)];
    word = RegionState{word}.at(stage, process).word;
  }

  shm::Segment segment_;
  std::deque<shm::Node> nodes_;
  std::optional<RegionPool> pools_[kRanks];
};

TEST_F(CollectiveRegions, TheFirstIsTakenFromTheStart) {
  EXPECT_EQ(regions_taken(), 1u);
  EXPECT_EQ(present(0), kRanks);
}

TEST_F(CollectiveRegions, ASingleProcessGetsNone) {
  EXPECT_EQ(take(1), kNoRegion);
  region_pool().leave(kNoRegion);
  EXPECT_EQ(regions_taken(), 1u);
}

TEST_F(CollectiveRegions, ThereIsABoundAndTheLastOneToLeaveGivesBack) {
  const int32_t one = take(2);
  const int32_t other = take(3);
  EXPECT_EQ((std::set<int>{RegionPool::index_of(one), RegionPool::index_of(other)}), (std::set<int>{1, 2}));
  EXPECT_EQ(take(2), kNoRegion);
  region_pool().leave(other, 0);
  region_pool().leave(other, 2);
  region_pool().leave(other, 2);
  EXPECT_EQ(take(2), kNoRegion) << "one member is still there";
  region_pool().leave(other, 1);
  EXPECT_EQ(RegionPool::index_of(take(2)), RegionPool::index_of(other));
}

TEST_F(CollectiveRegions, FollowTheLimitsOfAProfile) {
  segment_.job().usable_processors = kRanks;
  const int32_t region = take(3);
  Comm* comms[] = {make_comm(region, 0, 3), make_comm(region, 1, 3), make_comm(region, 2, 3)};
  CollectiveRegion& usual = *CollectiveRegion::of(*comms[0]);
  EXPECT_GE(usual.flat_bytes_max(Collective::barrier), 0);
  EXPECT_LT(usual.tree_bytes_max(Collective::barrier), 0);
  const std::vector<tune::Tuned> tuned = {{param::Id::coll_flat_ranks_max, std::nullopt, 2},
                                          {param::Id::coll_whole_bytes_max, std::nullopt, 64 * 1024}};
  tune::use(tuned);
  CollectiveRegion& grouped = *CollectiveRegion::of(*comms[1]);
  EXPECT_LT(grouped.flat_bytes_max(Collective::barrier), 0);
  EXPECT_GE(grouped.tree_bytes_max(Collective::barrier), 0);
  EXPECT_EQ(grouped.whole_bytes_max(), 64 * 1024);
  segment_.job().usable_processors = kRanks - 1;
  CollectiveRegion& crowded = *CollectiveRegion::of(*comms[2]);
  EXPECT_GE(crowded.flat_bytes_max(Collective::barrier), 0);
  EXPECT_EQ(crowded.whole_bytes_max(), usual.whole_bytes_max());
  tune::use({});
  for (Comm* comm : comms) objects::release(*comm);
}

TEST_F(CollectiveRegions, AreClearedForTheNextCommunicator) {
  const int32_t region = take(2);
  Comm* comms[] = {make_comm(region, 0, 2), make_comm(region, 1, 2)};
  for (Comm* comm : comms) {
    CollectiveRegion* view = CollectiveRegion::of(*comm);
    ASSERT_NE(view, nullptr);
    EXPECT_EQ(CollectiveRegion::of(*comm), view) << "one for all calls";
    std::memset(&view->own_rank_slots(), 7, sizeof view->own_rank_slots());
  }
  EXPECT_EQ(&CollectiveRegion::of(*comms[0])->rank_slots(1),
            &CollectiveRegion::of(*comms[1])->own_rank_slots());
  objects::release(*comms[1]);
  EXPECT_EQ(rank_slots(region, 1).done, 0x07070707u) << "others may still read there";
  objects::release(*comms[0]);
  EXPECT_TRUE(is_clear(region));
  EXPECT_EQ(RegionPool::index_of(take(2)), RegionPool::index_of(region));
}

TEST_F(CollectiveRegions, OfAnUnusedCommunicatorAreGivenBackToo) {
  const int32_t region = take(2);
  for (int rank : {0, 1}) objects::release(*make_comm(region, rank, 2));
  EXPECT_EQ(regions_taken(), 1u);
}

TEST_F(CollectiveRegions, HavePipelineBuffersApartFromEachOther) {
  Comm* comm = make_comm(0, 1, kRanks);
  CollectiveRegion* region = CollectiveRegion::of(*comm);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(region->pipeline_buffers(rank).size(), 8192u);
    std::memset(region->pipeline_buffers(rank).data(), rank + 1, 8192);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(region->pipeline_buffers(rank).front(), static_cast<std::byte>(rank + 1));
    EXPECT_EQ(region->pipeline_buffers(rank).back(), static_cast<std::byte>(rank + 1));
  }
  EXPECT_EQ(region->own_rank_slots().done, 0u);
  comm->region = kNoRegion;  // release() must not leave region 0, whose other members do not exist
  delete comm->region_view;
  objects::release(*comm);
}

TEST_F(CollectiveRegions, HaveOverflowBuffersApartFromSlotsAndPipelines) {
  Comm* const comms[] = {make_comm(0, 0, 2), make_comm(0, 1, 2)};
  CollectiveRegion& region = *CollectiveRegion::of(*comms[0]);
  EXPECT_GE(region.flat_bytes_max(Collective::scatter), 2048);
  const std::span<std::byte> pipeline_buffers = CollectiveRegion::of(*comms[1])->pipeline_buffers(0);
  for (uint32_t number = 1; number <= shm::kCollectiveSlots; ++number) {
    std::byte* const wide = region.own_payload(number, shm::kSlotPayloadBytes + 1);
    EXPECT_EQ(region.own_payload(number, shm::kSlotPayloadBytes), region.own_slot(number).payload);
    EXPECT_LE(wide + shm::kOverflowPayloadBytes, pipeline_buffers.data());
    EXPECT_NE(wide, region.own_payload(number + 1, shm::kOverflowPayloadBytes));
    // A reader finds the same address.
    const SlotHeader header =
        slot_header_of(number, what_of(shm::kOverflowPayloadBytes, Collective::bcast, 0), 1);
    EXPECT_EQ(CollectiveRegion::of(*comms[1])->payload(0, region.own_slot(number), header), wide);
  }
  for (Comm* comm : comms) delete comm->region_view;
}

TEST_F(CollectiveRegions, WithoutPipelineBuffersHaveSlotsOnlyWhateverAWordSays) {
  segment_ = {};
  make_segment(0);
  Comm* const comm = make_comm(0, 0, 2);
  CollectiveRegion& region = *CollectiveRegion::of(*comm);
  EXPECT_EQ(region.flat_bytes_max(Collective::scatter), shm::kSlotPayloadBytes);
  const SlotHeader stray = slot_header_of(1, what_of(SlotHeader::kBytes, Collective::bcast, 0), 1);
  EXPECT_EQ(region.payload(1, region.own_slot(1), stray), region.own_slot(1).payload);
  delete comm->region_view;
}

TEST_F(CollectiveRegions, AreLeftOnceForADeadProcess) {
  const int32_t one = take(4);
  const int32_t other = take(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([] { region_pool().leave_all(3); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(present(one), 3);
  EXPECT_EQ(present(other), 2) << "it was none of its members";
  EXPECT_EQ(present(0), kRanks - 1);
  region_pool().leave_all(0);
  region_pool().leave_all(1);
  EXPECT_EQ(regions_taken(), 1u | 1u << RegionPool::index_of(one))
      << "the last one gives back what others have left";
  region_pool().leave(one, 2);
  EXPECT_EQ(regions_taken(), 1u);
}

TEST_F(CollectiveRegions, ReturnAfterADeathDuringAllocation) {
  const int32_t region = take(4);
  abandon(region, RegionState::kTaking, 3);
  region_pool().leave_all(2);
  EXPECT_EQ(regions_taken(), 1u | 1u << RegionPool::index_of(region)) << "another one takes it";
  region_pool().leave_all(3);
  EXPECT_EQ(regions_taken(), 1u);
  EXPECT_EQ(present(region), 0);
}

TEST_F(CollectiveRegions, ReturnClearAfterADeathDuringClearing) {
  const int32_t region = take(2);
  rank_slots(region, 0).done = 7;
  rank_slots(region, 1).done = 7;
  used_bits(region) = 3;
  present_bits(region) = 0;
  abandon(region, RegionState::kClearing, 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([] { region_pool().leave_all(1); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(regions_taken(), 1u);
  EXPECT_TRUE(is_clear(region));
  EXPECT_EQ(RegionPool::index_of(take(2)), RegionPool::index_of(region));
}

TEST_F(CollectiveRegions, ReturnAfterTheDeathOfTheLastMember) {
  const int32_t region = take(2);
  region_pool().leave(region, 0);
  present_bits(region) = 0;
  region_pool().leave_all(1);
  EXPECT_EQ(regions_taken(), 1u);
}

// Plays the processes of a job one after the other: be() switches the process and discards its private
// record of announced regions.
TEST_F(CollectiveRegions, LeavesWithoutTheIdAfterTheAllocatingProcessDied) {
  const int32_t region = take(3);
  be(1);
  region_pool().leave_without_id();
  EXPECT_EQ(present(region), 3) << "word of it may come, nobody has died";
  objects::leave_regions_of(4);
  region_pool().leave_without_id();
  EXPECT_EQ(present(region), 3) << "likewise, among the members";
  objects::leave_regions_of(0);
  region_pool().leave_without_id();
  EXPECT_EQ(present(region), 1);
  be(2);
  objects::leave_regions_of(0);
  region_pool().leave_without_id();
  EXPECT_EQ(regions_taken(), 1u);
}

TEST_F(CollectiveRegions, LeavesIfItKnowsOfADeathBeforeTheAllocatingProcess) {
  be(1);
  objects::leave_regions_of(2);
  be(0);
  const int32_t region = take(3);
  EXPECT_EQ(present(region), 3);
  objects::leave_regions_of(2);
  region_pool().leave(region);
  be(1);
  objects::leave_regions_of(2);
  region_pool().leave_without_id();
  EXPECT_EQ(regions_taken(), 1u);
}

// The taker has announced the region, left it, and died. Whether the announcement still arrives is not tested
// here.
TEST_F(CollectiveRegions, LeavesWithoutTheIdWhatTheDeadProcessHadLeft) {
  const int32_t region = take(2);
  region_pool().leave(region);
  be(1);
  objects::leave_regions_of(0);
  EXPECT_EQ(present(region), 1);
  region_pool().leave_without_id();
  EXPECT_EQ(regions_taken(), 1u);
}

TEST_F(CollectiveRegions, StaysWithAnIdFromBeforeADeath) {
  const int32_t region = take(3);
  be(1);
  EXPECT_EQ(region_pool().accept(region), region);
  objects::leave_regions_of(2);
  region_pool().leave_without_id();
  EXPECT_EQ(present(region), 2);
  EXPECT_EQ(present(0), kRanks - 1) << "of MPI_COMM_WORLD's all know";
  region_pool().leave(region);
  EXPECT_EQ(present(region), 1);
}

TEST_F(CollectiveRegions, TheAllocatingProcessKnowsTheId) {
  const int32_t region = take(3);
  objects::leave_regions_of(2);
  region_pool().leave_without_id();
  EXPECT_EQ(present(region), 2);
}

TEST_F(CollectiveRegions, AcceptRejectsAnIdThatIsTooLate) {
  const int32_t early = take(3);
  be(1);
  objects::leave_regions_of(2);
  region_pool().leave_without_id();
  EXPECT_EQ(region_pool().accept(early), kNoRegion) << "it has left before";
  region_pool().leave(early, 0);
  EXPECT_EQ(regions_taken(), 1u);
  be(0);
  const int32_t late = take(2);
  ASSERT_EQ(RegionPool::index_of(late), RegionPool::index_of(early)) << "the same area, taken again";
  be(1);
  objects::leave_regions_of(2);
  region_pool().leave_without_id();
  EXPECT_EQ(present(late), 2) << "the dead one was counted the time before";
  EXPECT_EQ(region_pool().accept(early), kNoRegion) << "word of the turn before";
  region_pool().leave(early);
  EXPECT_EQ(present(late), 2);
  EXPECT_EQ(region_pool().accept(late), late);
  region_pool().leave(late);
  EXPECT_EQ(present(late), 1);
}

// A member that never learned of the region leaves it while other threads reap the dead taker and the rest
// leave.
TEST_F(CollectiveRegions, LeavesWithoutTheIdWhileOthersLeave) {
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    be(0);
    const int32_t region = take(4);
    ASSERT_NE(region, kNoRegion);
    be(1);
    std::vector<std::thread> threads;
    threads.emplace_back([] { region_pool().leave_all(0); });
    threads.emplace_back([region] { region_pool().leave(region, 2); });
    threads.emplace_back([region] { region_pool().leave(region, 3); });
    objects::leave_regions_of(0);
    region_pool().leave_without_id();
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(regions_taken(), 1u);
  }
}

// Every rank reports both mismatched calls, even if it waited for a third rank.
TEST_F(CollectiveRegions, WhyARankIsOutOfStepIsPassedOn) {
  const int32_t region = take(3);
  std::vector<CollectiveRegion*> views;
  std::vector<Comm*> comms;
  for (int rank = 0; rank < 3; ++rank) {
    comms.push_back(make_comm(region, rank, 3));
    views.push_back(CollectiveRegion::of(*comms.back()));
  }
  // A rank with a collective mismatch first checks whether a failed process caused it, which needs an engine.
  transport::ShmTransport transport(nodes_[0]);
  p2p::EngineSetup setup;
  setup.size = kRanks;
  setup.transport = &transport;
  setup.relation = [](PeerIndex) { return topo::Relation::l3; };
  p2p::Engine engine(setup);
  p2p::process_engine = &engine;
  const auto says = [](const char* words) { return std::strstr(last_failure_text(), words) != nullptr; };
  EXPECT_FALSE(views[1]->fall_out_of_step({2, Collective::barrier, 0}, {1, Collective::bcast, 4096}).ok());
  EXPECT_TRUE(says("rank 2 is in barrier of 0 bytes, this one (1) in bcast of 4096")) << last_failure_text();
  for (const int rank : {0, 2}) {
    const int awaited = rank == 0 ? 1 : 0;
    ASSERT_TRUE(views[0]->is_out_of_step(awaited));
    EXPECT_FALSE(views[static_cast<size_t>(rank)]->fall_out_of_step(awaited).ok());
    EXPECT_TRUE(says("rank 2 is in barrier of 0 bytes, rank 1 in bcast of 4096")) << last_failure_text();
  }
  EXPECT_FALSE(views[0]->fall_out_of_step(1).ok());
  EXPECT_TRUE(says("after an earlier error rank 1 and this one")) << last_failure_text();
  for (Comm* comm : comms) objects::release(*comm);
  p2p::process_engine = nullptr;
}

// In any order of calls, a region has one owner at a time, and every region handed out is clear.
TEST_F(CollectiveRegions, ManyTakeAndLeaveAtOnce) {
  constexpr int kRounds = 2000;
  std::vector<std::thread> threads;
  std::vector<int> taken(kRanks, 0);
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([this, rank, &taken] {
      for (int round = 0; round < kRounds; ++round) {
        const int32_t region = take(2);
        if (region == kNoRegion) continue;
        ++taken[static_cast<size_t>(rank)];
        shm::RankSlots& own = rank_slots(region, rank);
        ASSERT_EQ(own.done, 0u);
        atomic::fetch_or(used_bits(region), uint64_t{1} << rank);
        own.done = static_cast<uint32_t>(round) + 1;
        region_pool().leave(region, 0);
        region_pool().leave(region, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(regions_taken(), 1u);
  EXPECT_GT(*std::ranges::max_element(taken), 0);
}

}  // namespace
}  // namespace hearth::coll
