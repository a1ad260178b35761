#include "shm/node.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "arena_pair.h"
#include "base/os_memory.h"
#include "base/os_process.h"

namespace hearth::shm {
namespace {

class NodeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Segment::create(SegmentPlan::for_ranks(3), segment_).ok()); }

  Segment segment_;
};

TEST_F(NodeTest, OfAJobOnOneMachineHasAllProcessesInTheirOrder) {
  const Node node(segment_, 2);
  EXPECT_TRUE(node.has_all());
  EXPECT_FALSE(node.is_one_of_several());
  EXPECT_EQ(node.self(), 2);
  EXPECT_EQ(node.arena(), nullptr);
  for (PeerIndex peer = 0; peer < 3; ++peer) {
    EXPECT_EQ(node.local_rank_of(peer), peer);
    EXPECT_EQ(node.peer_at(peer), peer);
    EXPECT_TRUE(node.shares_memory_with(peer));
    EXPECT_EQ(&node.block_of(peer), &segment_.rank(peer));
  }
  EXPECT_EQ(&node.block(), &segment_.rank(2));
}

TEST_F(NodeTest, OfOneMachineOfSeveralConvertsBothWays) {
  const Node node(segment_, 1, nullptr, {-1, 0, -1, 2, 1}, {0, 1, 0, 1, 1});
  EXPECT_FALSE(node.has_all());
  EXPECT_TRUE(node.is_one_of_several());
  EXPECT_EQ(node.self(), 4);
  EXPECT_EQ(node.local_rank(), 1);
  EXPECT_FALSE(node.has(0));
  EXPECT_FALSE(node.shares_memory_with(2));
  EXPECT_TRUE(node.shares_memory_with(3));
  for (int local = 0; local < 3; ++local) EXPECT_EQ(node.local_rank_of(node.peer_at(local)), local);
  EXPECT_EQ(&node.block(), &segment_.rank(1));
  EXPECT_EQ(&node.block_of(3), &segment_.rank(2));
}

/// This process, rank 0 of three, and process 3, which is rank 1 of another job.
class ForeignTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    ASSERT_TRUE(Segment::create(SegmentPlan::for_ranks(2), other_job_).ok());
    ASSERT_TRUE(Segment::create(SegmentPlan::for_ranks(2), bridge_segment_).ok());
    bridge_.emplace(bridge_segment_, 0, nullptr, std::vector<int>{0, -1, -1, 1});
    node_.emplace(segment_, 0);
    node_->set_foreign(3, {&*bridge_, &other_job_, nullptr});
  }

  Segment other_job_;
  Segment bridge_segment_;
  std::optional<Node> bridge_;
  std::optional<Node> node_;
};

TEST_F(ForeignTest, SharesTheBridgeWithTheProcess) {
  EXPECT_EQ(node_->shared_with(1), &*node_);
  EXPECT_EQ(node_->shared_with(3), &*bridge_);
  EXPECT_EQ(node_->shared_with(4), nullptr);
  EXPECT_EQ(node_->local_rank_of(3), -1);
  EXPECT_EQ(&node_->shared_with(3)->block_of(3), &bridge_segment_.rank(1));
  node_->set_foreign(3, {});
  EXPECT_EQ(node_->shared_with(3), nullptr);
}

TEST_F(ForeignTest, ThePoolIsInTheSegmentOfTheOtherJob) {
  EXPECT_EQ(node_->pool_of(2).segment, &segment_);
  EXPECT_EQ(node_->pool_of(2).rank, 2);
  EXPECT_EQ(node_->pool_of(3).segment, nullptr) << "its rank is not published yet";
  bridge_segment_.rank(1).home_rank = 1 + 1;
  EXPECT_EQ(node_->pool_of(3).segment, &other_job_);
  EXPECT_EQ(node_->pool_of(3).rank, 1);
  bridge_segment_.rank(1).home_rank = 1 + 2;
  EXPECT_EQ(node_->pool_of(3).segment, nullptr) << "the other job has two ranks";
}

TEST_F(ForeignTest, PoolsAreSharedOnceBothHaveMappedThem) {
  bridge_segment_.rank(1).home_rank = 1 + 1;
  EXPECT_FALSE(node_->shares_pools_with(3));
  bridge_segment_.rank(1).maps_peers = 1;
  EXPECT_TRUE(node_->shares_pools_with(3));
  node_->set_foreign(3, {&*bridge_, nullptr, nullptr});
  EXPECT_FALSE(node_->shares_pools_with(3));
}

TEST_F(ForeignTest, ReachesTheArenaOfTheOtherJob) {
  ArenaPair arenas;
  std::byte* own = arenas.second.grow(Arena::Half::blocks, os::page_bytes(), os::page_bytes());
  ASSERT_NE(own, nullptr);
  *own = std::byte{7};
  const uint64_t offset = arenas.second.offset_of(own);
  EXPECT_EQ(node_->arena_memory_of(3, offset, 1), nullptr) << "there is none";
  ArenaSlices slices;
  ASSERT_TRUE(ArenaSlices::open(os::duplicate_out_of_the_way(arenas.first.descriptor()), 2, slices).ok());
  node_->set_foreign(3, {&*bridge_, &other_job_, &slices});
  bridge_segment_.rank(1).home_rank = 1 + 1;
  const std::byte* seen = node_->arena_memory_of(3, offset, 1);
  ASSERT_NE(seen, nullptr);
  EXPECT_NE(seen, own);
  EXPECT_EQ(*seen, std::byte{7});
  EXPECT_EQ(node_->arena_memory_of(3, slices.slice_bytes(), 1), nullptr);
  ArenaSlices of_three;
  EXPECT_FALSE(ArenaSlices::open(os::duplicate_out_of_the_way(arenas.first.descriptor()), 3, of_three).ok());
}

TEST_F(NodeTest, SimulatedMachinesShareNoMemoryButRings) {
  const Node node(segment_, 0, nullptr, {}, {0, 1, 0});
  EXPECT_TRUE(node.has_all());
  EXPECT_TRUE(node.is_one_of_several());
  EXPECT_TRUE(node.has(1));
  EXPECT_FALSE(node.shares_memory_with(1));
  EXPECT_TRUE(node.shares_memory_with(2));
}

TEST_F(NodeTest, AnArenaThatIsNotUsableCountsAsNone) {
  Arena arena;
  EXPECT_EQ(Node(segment_, 0, &arena).arena(), nullptr);
}

TEST_F(NodeTest, AProcessIsGoneOnceItIsMarkedOrHasEnded) {
  const Node node(segment_, 0);
  RankBlock& own = node.block();
  own.pid = static_cast<uint32_t>(os::process_id());
  own.pid_numbering = os::process_numbering();
  EXPECT_FALSE(node.is_gone(0));
  EXPECT_FALSE(node.is_gone(1)) << "it has not published its PID yet";
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(pipe_ends[1]);
    static_cast<void>(read(pipe_ends[0], &byte, 1));  // until the parent closes its end
    _exit(0);
  }
  close(pipe_ends[0]);
  RankBlock& other = node.block_of(1);
  other.pid = static_cast<uint32_t>(child);
  other.pid_numbering = own.pid_numbering;
  EXPECT_EQ(node.pid_of(1), child);
  EXPECT_FALSE(node.is_gone(1));
  close(pipe_ends[1]);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(node.is_gone(1));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(node.is_gone(1)) << "its PID may belong to another process now";
  EXPECT_FALSE(node.is_gone(2));
  node.liveness().publish(2, DeathCause::signal, 9);
  EXPECT_TRUE(node.is_gone(2));
}

TEST_F(NodeTest, APidOfAnotherNumberingIsNotUsed) {
  const Node node(segment_, 0);
  node.block().pid_numbering = os::process_numbering();
  RankBlock& other = node.block_of(1);
  other.pid = 1;
  EXPECT_EQ(node.pid_of(1), 0);
  EXPECT_FALSE(node.is_gone(1));
}

}  // namespace
}  // namespace hearth::shm
