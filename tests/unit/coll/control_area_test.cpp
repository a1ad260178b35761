// Life cycle of collective regions: taken, left, cleared and taken again, with threads as ranks.
#include "coll/control_area.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/engine.h"
#include "transport/shm_transport.h"
#include "tune/threshold.h"

namespace hearth::coll {
namespace {

using objects::Comm;
using objects::kNoArea;
using shm::AreaState;

constexpr int kRanks = 5;
constexpr int kAreas = 3;

class ControlAreas : public testing::Test {
 protected:
  void SetUp() override { make_segment(8192); }
  void make_segment(uint64_t chunk_bytes) {
    shm::SegmentPlan plan;
    plan.rank_count = kRanks;
    plan.ring_lines = 64;
    plan.cell_bytes = 4096;
    plan.cell_count = 4;
    plan.area_count = kAreas;
    plan.chunk_bytes = chunk_bytes;
    ASSERT_TRUE(shm::Segment::create(plan, segment_).ok()) << last_failure_text();
    ControlArea::set_up(segment_, 0);
  }

  /// The communicator object of process `rank`, with the first `size` processes as members.
  static Comm* make_comm(int32_t area, int rank, int size) {
    objects::Group* group = objects::pools.groups.create();
    for (int peer = 0; peer < size; ++peer) group->peers.push_back(peer);
    group->index(rank);
    Comm* comm = objects::pools.comms.create();
    comm->group = group;
    comm->rank = rank;
    comm->size = comm->peer_count = size;
    comm->peers = group->peers.data();
    comm->area = area;
    return comm;
  }

  bool is_clear(int32_t told) {
    const int area = ControlArea::index_of(told);
    static const shm::ControlRow kClear = {};
    for (int rank = 0; rank < kRanks; ++rank) {
      if (std::memcmp(&segment_.control_row(area, rank), &kClear, sizeof kClear) != 0) return false;
    }
    return std::ranges::all_of(segment_.used_rows(area), [](uint64_t word) { return word == 0; });
  }

  static int32_t take(int members) {
    objects::Peers all;
    for (int peer = 0; peer < members; ++peer) all.push_back(peer);
    return ControlArea::take(all);
  }

  /// Bit i is set if region i is taken.
  uint64_t areas_taken() const {
    uint64_t bits = 0;
    for (int area = 0; area < kAreas; ++area) {
      if (AreaState{segment_.job().areas[area]}.stage() != AreaState::kFree) bits |= uint64_t{1} << area;
    }
    return bits;
  }
  uint64_t& present_bits(int32_t area) const { return segment_.present(ControlArea::index_of(area))[0]; }
  int present(int32_t area) const { return std::popcount(present_bits(area)); }
  shm::ControlRow& row(int32_t area, int rank) const {
    return segment_.control_row(ControlArea::index_of(area), rank);
  }
  uint64_t& used_bits(int32_t area) const { return segment_.used_rows(ControlArea::index_of(area))[0]; }
  /// The state of a region whose `process` dies during `stage`.
  void abandon(int32_t area, AreaState::Stage stage, int process) {
    uint64_t& word = segment_.job().areas[ControlArea::index_of(area)];
    word = AreaState{word}.at(stage, process).word;
  }

  shm::Segment segment_;
};

TEST_F(ControlAreas, TheFirstIsTakenFromTheStart) {
  EXPECT_EQ(areas_taken(), 1u);
  EXPECT_EQ(present(0), kRanks);
}

TEST_F(ControlAreas, WhoIsAloneGetsNone) {
  EXPECT_EQ(take(1), kNoArea);
  ControlArea::leave(kNoArea);
  EXPECT_EQ(areas_taken(), 1u);
}

TEST_F(ControlAreas, ThereIsABoundAndTheLastOneToLeaveGivesBack) {
  const int32_t one = take(2);
  const int32_t other = take(3);
  EXPECT_EQ((std::set<int>{ControlArea::index_of(one), ControlArea::index_of(other)}), (std::set<int>{1, 2}));
  EXPECT_EQ(take(2), kNoArea);
  ControlArea::leave(other, 0);
  ControlArea::leave(other, 2);
  ControlArea::leave(other, 2);
  EXPECT_EQ(take(2), kNoArea) << "one member is still there";
  ControlArea::leave(other, 1);
  EXPECT_EQ(ControlArea::index_of(take(2)), ControlArea::index_of(other));
}

TEST_F(ControlAreas, FollowTheLimitsOfAProfile) {
  segment_.job().usable_processors = kRanks;
  const int32_t area = take(3);
  Comm* comms[] = {make_comm(area, 0, 3), make_comm(area, 1, 3), make_comm(area, 2, 3)};
  ControlArea& usual = *ControlArea::of(*comms[0]);
  EXPECT_GE(usual.line_bytes_max(Collective::barrier), 0);
  EXPECT_LT(usual.tree_bytes_max(Collective::barrier), 0);
  const std::vector<tune::Tuned> tuned = {{param::Id::coll_line_ranks_max, std::nullopt, 2},
                                          {param::Id::coll_whole_bytes_max, std::nullopt, 64 * 1024}};
  tune::use(tuned);
  ControlArea& grouped = *ControlArea::of(*comms[1]);
  EXPECT_LT(grouped.line_bytes_max(Collective::barrier), 0);
  EXPECT_GE(grouped.tree_bytes_max(Collective::barrier), 0);
  EXPECT_EQ(grouped.whole_bytes_max(), 64 * 1024);
  segment_.job().usable_processors = kRanks - 1;
  ControlArea& crowded = *ControlArea::of(*comms[2]);
  EXPECT_GE(crowded.line_bytes_max(Collective::barrier), 0);
  EXPECT_EQ(crowded.whole_bytes_max(), usual.whole_bytes_max());
  tune::use({});
  for (Comm* comm : comms) objects::release(*comm);
}

TEST_F(ControlAreas, AreClearedForWhoComesNext) {
  const int32_t area = take(2);
  Comm* comms[] = {make_comm(area, 0, 2), make_comm(area, 1, 2)};
  for (Comm* comm : comms) {
    ControlArea* view = ControlArea::of(*comm);
    ASSERT_NE(view, nullptr);
    EXPECT_EQ(ControlArea::of(*comm), view) << "one for all calls";
    std::memset(&view->own_row(), 7, sizeof view->own_row());
  }
  EXPECT_EQ(&ControlArea::of(*comms[0])->row(1), &ControlArea::of(*comms[1])->own_row());
  objects::release(*comms[1]);
  EXPECT_EQ(row(area, 1).done, 0x07070707u) << "others may still read there";
  objects::release(*comms[0]);
  EXPECT_TRUE(is_clear(area));
  EXPECT_EQ(ControlArea::index_of(take(2)), ControlArea::index_of(area));
}

TEST_F(ControlAreas, OfAnUnusedCommunicatorAreGivenBackToo) {
  const int32_t area = take(2);
  for (int rank : {0, 1}) objects::release(*make_comm(area, rank, 2));
  EXPECT_EQ(areas_taken(), 1u);
}

TEST_F(ControlAreas, HaveChunksApartFromEachOther) {
  Comm* comm = make_comm(0, 1, kRanks);
  ControlArea* area = ControlArea::of(*comm);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(area->chunks(rank).size(), 8192u);
    std::memset(area->chunks(rank).data(), rank + 1, 8192);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(area->chunks(rank).front(), static_cast<std::byte>(rank + 1));
    EXPECT_EQ(area->chunks(rank).back(), static_cast<std::byte>(rank + 1));
  }
  EXPECT_EQ(area->own_row().done, 0u);
  comm->area = kNoArea;  // release() must not leave region 0, whose other members do not exist
  delete comm->control;
  objects::release(*comm);
}

TEST_F(ControlAreas, HaveWidePartsApartFromSlotsAndChunks) {
  Comm* const comms[] = {make_comm(0, 0, 2), make_comm(0, 1, 2)};
  ControlArea& area = *ControlArea::of(*comms[0]);
  EXPECT_GE(area.line_bytes_max(Collective::scatter), 2048);
  const std::span<std::byte> chunks = ControlArea::of(*comms[1])->chunks(0);
  for (uint32_t number = 1; number <= shm::kControlSlots; ++number) {
    std::byte* const wide = area.own_payload(number, shm::kSlotPayloadBytes + 1);
    EXPECT_EQ(area.own_payload(number, shm::kSlotPayloadBytes), area.own_slot(number).payload);
    EXPECT_LE(wide + shm::kWidePayloadBytes, chunks.data());
    EXPECT_NE(wide, area.own_payload(number + 1, shm::kWidePayloadBytes));
    // A reader finds the same address.
    const Said said = said_of(number, what_of(shm::kWidePayloadBytes, Collective::bcast, 0), 1);
    EXPECT_EQ(ControlArea::of(*comms[1])->payload(0, area.own_slot(number), said), wide);
  }
  for (Comm* comm : comms) delete comm->control;
}

TEST_F(ControlAreas, WithoutChunksHaveSlotsOnlyWhateverAWordSays) {
  segment_ = {};
  make_segment(0);
  Comm* const comm = make_comm(0, 0, 2);
  ControlArea& area = *ControlArea::of(*comm);
  EXPECT_EQ(area.line_bytes_max(Collective::scatter), shm::kSlotPayloadBytes);
  const Said stray = said_of(1, what_of(Said::kBytes, Collective::bcast, 0), 1);
  EXPECT_EQ(area.payload(1, area.own_slot(1), stray), area.own_slot(1).payload);
  delete comm->control;
}

TEST_F(ControlAreas, AreLeftForTheDeadOnceWhoeverSaysIt) {
  const int32_t one = take(4);
  const int32_t other = take(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([] { ControlArea::leave_all(3); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(present(one), 3);
  EXPECT_EQ(present(other), 2) << "it was none of its members";
  EXPECT_EQ(present(0), kRanks - 1);
  ControlArea::leave_all(0);
  ControlArea::leave_all(1);
  EXPECT_EQ(areas_taken(), 1u | 1u << ControlArea::index_of(one))
      << "the last one gives back what others have left";
  ControlArea::leave(one, 2);
  EXPECT_EQ(areas_taken(), 1u);
}

TEST_F(ControlAreas, OfWhoDiesWhileTakingOneComeBack) {
  const int32_t area = take(4);
  abandon(area, AreaState::kTaking, 3);
  ControlArea::leave_all(2);
  EXPECT_EQ(areas_taken(), 1u | 1u << ControlArea::index_of(area)) << "another one takes it";
  ControlArea::leave_all(3);
  EXPECT_EQ(areas_taken(), 1u);
  EXPECT_EQ(present(area), 0);
}

TEST_F(ControlAreas, OfWhoDiesWhileClearingComeBackClear) {
  const int32_t area = take(2);
  row(area, 0).done = 7;
  row(area, 1).done = 7;
  used_bits(area) = 3;
  present_bits(area) = 0;
  abandon(area, AreaState::kClearing, 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([] { ControlArea::leave_all(1); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(areas_taken(), 1u);
  EXPECT_TRUE(is_clear(area));
  EXPECT_EQ(ControlArea::index_of(take(2)), ControlArea::index_of(area));
}

TEST_F(ControlAreas, OfWhoDiesAsTheLastToLeaveComeBack) {
  const int32_t area = take(2);
  ControlArea::leave(area, 0);
  present_bits(area) = 0;
  ControlArea::leave_all(1);
  EXPECT_EQ(areas_taken(), 1u);
}

// Plays the processes of a job one after the other: set_up() switches the process and discards its private
// record of announced regions.
TEST_F(ControlAreas, WhoWasNotToldBeforeATakerDiedLeaves) {
  const int32_t area = take(3);
  ControlArea::set_up(segment_, 1);
  ControlArea::leave_untold();
  EXPECT_EQ(present(area), 3) << "word of it may come, nobody has died";
  objects::leave_areas_of(4);
  ControlArea::leave_untold();
  EXPECT_EQ(present(area), 3) << "likewise, among the members";
  objects::leave_areas_of(0);
  ControlArea::leave_untold();
  EXPECT_EQ(present(area), 1);
  ControlArea::set_up(segment_, 2);
  objects::leave_areas_of(0);
  ControlArea::leave_untold();
  EXPECT_EQ(areas_taken(), 1u);
}

TEST_F(ControlAreas, WhoHasHeardOfADeathBeforeTheTakerDidLeaves) {
  ControlArea::set_up(segment_, 1);
  objects::leave_areas_of(2);
  ControlArea::set_up(segment_, 0);
  const int32_t area = take(3);
  EXPECT_EQ(present(area), 3);
  objects::leave_areas_of(2);
  ControlArea::leave(area);
  ControlArea::set_up(segment_, 1);
  objects::leave_areas_of(2);
  ControlArea::leave_untold();
  EXPECT_EQ(areas_taken(), 1u);
}

// The taker has announced the region, left it, and died. Whether the announcement still arrives is not tested
// here.
TEST_F(ControlAreas, WhoWasNotToldLeavesWhatTheDeadOneHadLeft) {
  const int32_t area = take(2);
  ControlArea::leave(area);
  ControlArea::set_up(segment_, 1);
  objects::leave_areas_of(0);
  EXPECT_EQ(present(area), 1);
  ControlArea::leave_untold();
  EXPECT_EQ(areas_taken(), 1u);
}

TEST_F(ControlAreas, WhoWasToldBeforeADeathStays) {
  const int32_t area = take(3);
  ControlArea::set_up(segment_, 1);
  EXPECT_EQ(ControlArea::accept(area), area);
  objects::leave_areas_of(2);
  ControlArea::leave_untold();
  EXPECT_EQ(present(area), 2);
  EXPECT_EQ(present(0), kRanks - 1) << "of MPI_COMM_WORLD's all know";
  ControlArea::leave(area);
  EXPECT_EQ(present(area), 1);
}

TEST_F(ControlAreas, WhoTookAnAreaWasTold) {
  const int32_t area = take(3);
  objects::leave_areas_of(2);
  ControlArea::leave_untold();
  EXPECT_EQ(present(area), 2);
}

TEST_F(ControlAreas, WhoIsToldTooLateIsTold) {
  const int32_t early = take(3);
  ControlArea::set_up(segment_, 1);
  objects::leave_areas_of(2);
  ControlArea::leave_untold();
  EXPECT_EQ(ControlArea::accept(early), kNoArea) << "it has left before";
  ControlArea::leave(early, 0);
  EXPECT_EQ(areas_taken(), 1u);
  ControlArea::set_up(segment_, 0);
  const int32_t late = take(2);
  ASSERT_EQ(ControlArea::index_of(late), ControlArea::index_of(early)) << "the same area, taken again";
  ControlArea::set_up(segment_, 1);
  objects::leave_areas_of(2);
  ControlArea::leave_untold();
  EXPECT_EQ(present(late), 2) << "the dead one was counted the time before";
  EXPECT_EQ(ControlArea::accept(early), kNoArea) << "word of the turn before";
  ControlArea::leave(early);
  EXPECT_EQ(present(late), 2);
  EXPECT_EQ(ControlArea::accept(late), late);
  ControlArea::leave(late);
  EXPECT_EQ(present(late), 1);
}

// A member that never learned of the region leaves it while other threads reap the dead taker and the rest
// leave.
TEST_F(ControlAreas, WhoWasNotToldLeavesWhileOthersDo) {
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    ControlArea::set_up(segment_, 0);
    const int32_t area = take(4);
    ASSERT_NE(area, kNoArea);
    ControlArea::set_up(segment_, 1);
    std::vector<std::thread> threads;
    threads.emplace_back([] { ControlArea::leave_all(0); });
    threads.emplace_back([area] { ControlArea::leave(area, 2); });
    threads.emplace_back([area] { ControlArea::leave(area, 3); });
    objects::leave_areas_of(0);
    ControlArea::leave_untold();
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(areas_taken(), 1u);
  }
}

// Every rank reports both mismatched calls, even if it waited for a third rank.
TEST_F(ControlAreas, WhyARankIsOutOfStepIsPassedOn) {
  const int32_t area = take(3);
  std::vector<ControlArea*> views;
  std::vector<Comm*> comms;
  for (int rank = 0; rank < 3; ++rank) {
    comms.push_back(make_comm(area, rank, 3));
    views.push_back(ControlArea::of(*comms.back()));
  }
  // A rank with a collective mismatch first checks whether a failed process caused it, which needs an engine.
  transport::ShmTransport transport(segment_, 0);
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
TEST_F(ControlAreas, ManyTakeAndLeaveAtOnce) {
  constexpr int kRounds = 2000;
  std::vector<std::thread> threads;
  std::vector<int> taken(kRanks, 0);
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([this, rank, &taken] {
      for (int round = 0; round < kRounds; ++round) {
        const int32_t area = take(2);
        if (area == kNoArea) continue;
        ++taken[static_cast<size_t>(rank)];
        shm::ControlRow& own = row(area, rank);
        ASSERT_EQ(own.done, 0u);
        atomic::fetch_or(used_bits(area), uint64_t{1} << rank);
        own.done = static_cast<uint32_t>(round) + 1;
        ControlArea::leave(area, 0);
        ControlArea::leave(area, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(areas_taken(), 1u);
  EXPECT_GT(*std::ranges::max_element(taken), 0);
}

}  // namespace
}  // namespace hearth::coll
