#include "shm/segment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/chaos.h"
#include "base/os_memory.h"

namespace hearth::shm {
namespace {

constexpr uint32_t kRanks = 3;

class BoundSegment : public testing::Test {
 protected:
  void make(const std::vector<RankMemory>& memory) {
    SegmentPlan plan;
    plan.rank_count = kRanks;
    plan.ring_lines = 64;
    plan.buffer_bytes = 4096;
    plan.buffer_count = 4;
    plan.region_count = 2;
    plan.pipeline_bytes = 4096;
    ASSERT_TRUE(Segment::create(plan, segment_, memory).ok()) << last_failure_text();
  }

  // Writes every part of the segment and checks that the parts do not overlap.
  void use_all() {
    std::vector<std::byte*> rings;
    for (uint32_t pair = 0; pair < kRanks * kRanks; ++pair) {
      const int64_t number = segment_.take_ring(static_cast<int>(pair % kRanks));
      ASSERT_EQ(number, static_cast<int64_t>(pair));
      rings.push_back(segment_.ring_memory(static_cast<uint32_t>(number)));
      std::memset(rings.back(), static_cast<int>(pair + 1), segment_.geometry().ring_bytes);
    }
    EXPECT_EQ(segment_.take_ring(0), -1) << "there are no more pairs";
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(segment_.reserve_buffers(static_cast<int>(rank), 0, 4));
      std::memset(segment_.buffer_memory(static_cast<int>(rank), 0), static_cast<int>(rank + 100), 4 * 4096);
    }
    for (int region = 0; region < 2; ++region) {
      ASSERT_TRUE(segment_.reserve_region(region));
      ASSERT_TRUE(segment_.open_pipeline_buffers(region));
      for (int rank = 0; rank < static_cast<int>(kRanks); ++rank) {
        std::memset(&segment_.rank_slots(region, rank), region * 10 + rank + 1, sizeof(RankSlots));
        const std::span<std::byte> pipeline_buffers = segment_.pipeline_buffers(region, rank);
        std::memset(pipeline_buffers.data(), region * 10 + rank + 101, pipeline_buffers.size());
      }
      segment_.used_slots(region)[0] = 5;
    }
    for (int region = 0; region < 2; ++region) {
      EXPECT_EQ(segment_.used_slots(region)[0], 5u);
      EXPECT_EQ(RegionState{segment_.job().regions[region]}.stage(),
                region == 0 ? RegionState::kUsed : RegionState::kFree);
      EXPECT_EQ(segment_.present(region)[0], region == 0 ? (uint64_t{1} << kRanks) - 1 : 0);
      for (int rank = 0; rank < static_cast<int>(kRanks); ++rank) {
        EXPECT_EQ(segment_.rank_slots(region, rank).slots[0].payload[0],
                  static_cast<std::byte>(region * 10 + rank + 1));
        EXPECT_EQ(segment_.pipeline_buffers(region, rank).back(),
                  static_cast<std::byte>(region * 10 + rank + 101));
      }
    }
    for (size_t pair = 0; pair < rings.size(); ++pair) {
      EXPECT_EQ(rings[pair][0], static_cast<std::byte>(pair + 1));
      EXPECT_EQ(rings[pair][segment_.geometry().ring_bytes - 1], static_cast<std::byte>(pair + 1));
    }
    for (uint32_t rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(*segment_.buffer_memory(static_cast<int>(rank), 3), static_cast<std::byte>(rank + 100));
  }

  Segment segment_;
};

TEST_F(BoundSegment, WithNothingToChooseRingsLieSideBySide) {
  make({});
  EXPECT_NE(segment_.geometry().ring_bytes % os::page_bytes(), 0u);
  EXPECT_EQ(segment_.rank(1).memory.rings, -1);
  EXPECT_EQ(segment_.rank(1).memory.arena, -1);
  use_all();
}

TEST_F(BoundSegment, RingsHavePagesOfTheirOwnToLieWhereTheReceiverIs) {
  make(std::vector<RankMemory>(kRanks, {0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(segment_.geometry().ring_bytes % os::page_bytes(), 0u);
  EXPECT_EQ(segment_.rank(2).memory.rings, 0);
  use_all();
  const int node = os::node_of_page(segment_.ring_memory(0));
  EXPECT_TRUE(node == 0 || node == -1) << node;
}

// Each pair has one ring. If its memory is refused, a later attempt needs the same number.
TEST_F(BoundSegment, ARefusedRingIsThereForALaterAttempt) {
  make({});
  chaos::Plan refusal;
  refusal.fail_at = 1;
  refusal.fail = chaos::Call::room;
  chaos::begin(refusal, 0);
  EXPECT_EQ(segment_.take_ring(0), -1);
  chaos::begin(chaos::Plan(), 0);
  use_all();
}

// As in a sandbox, or on a machine for which hwloc has wrong data.
TEST_F(BoundSegment, NodesThatTheSystemRefusesDoNoHarm) {
  make({{0, 0, 0, 0, 900, 901, 0, 0}, {0, 0, 0, 0, 900, 902, 0, 0}, {0, 0, 0, 0, -1, -1, 0, 0}});
  use_all();
}

// As on machines with pages of 64 KiB: memory that is bound to nodes starts and ends on such a page.
TEST_F(BoundSegment, PartsThatAreBoundHavePagesOfTheirOwnWhateverTheirSize) {
  constexpr size_t kPage = size_t{64} << 10;
  os::simulate_page_bytes(kPage);
  make(std::vector<RankMemory>(kRanks, {0, 0, 0, 0, 0, 0, 0, 0}));
  use_all();
  const JobGeometry& geometry = segment_.geometry();
  for (const uint64_t place : {geometry.blocks_offset, geometry.block_bytes, geometry.buffers_offset,
                               geometry.regions_offset, geometry.region_bytes, geometry.rings_offset,
                               geometry.ring_bytes, geometry.pipeline_bytes, geometry.segment_bytes}) {
    EXPECT_EQ(place % kPage, 0u);
  }
  EXPECT_EQ((segment_.buffer_memory(1, 0) - segment_.buffer_memory(0, 0)) % kPage, 0u);
  Segment attached;
  EXPECT_TRUE(Segment::attach(::dup(segment_.descriptor()), attached).ok()) << last_failure_text();
  os::simulate_page_bytes(0);
}

// A process attaches to every valid segment, however small, and refuses a header that is inconsistent.
TEST(AttachedSegment, IsAsItSaysOfItself) {
  for (const uint32_t ranks : {1u, 2u, 40u}) {
    SegmentPlan plan;
    plan.rank_count = ranks;
    plan.ring_lines = 16;
    plan.buffer_bytes = 64;
    plan.buffer_count = 1;
    plan.region_count = ranks > 1 ? 1 : 0;
    plan.pipeline_bytes = uint64_t{64} << 20;  // more than all the rest
    Segment made;
    ASSERT_TRUE(Segment::create(plan, made).ok()) << last_failure_text();
    Segment attached;
    ASSERT_TRUE(Segment::attach(::dup(made.descriptor()), attached).ok()) << last_failure_text();
    EXPECT_EQ(attached.geometry().rings_offset, made.geometry().rings_offset);
    for (uint32_t JobGeometry::*field :
         {&JobGeometry::rank_count, &JobGeometry::ring_lines, &JobGeometry::buffer_bytes,
          &JobGeometry::buffer_count, &JobGeometry::region_count}) {
      const uint32_t right = made.job().*field;
      made.job().*field = 0xffffffff;
      Segment refused;
      const int descriptor = ::dup(made.descriptor());
      EXPECT_FALSE(Segment::attach(descriptor, refused).ok());
      EXPECT_NE(std::string(last_failure_text()).find("is inconsistent"), std::string::npos);
      ::close(descriptor);
      made.job().*field = right;
    }
  }
}

}  // namespace
}  // namespace hearth::shm
