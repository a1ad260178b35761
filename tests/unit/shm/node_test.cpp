#include "shm/node.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

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
  node.liveness().tell(2, DeathCause::signal, 9);
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
