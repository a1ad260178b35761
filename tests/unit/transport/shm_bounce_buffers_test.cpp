// Bounce buffers between the ranks of two jobs, each with its own segment.
#include "transport/shm_bounce_buffers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

namespace hearth::transport {
namespace {

/// Rank 0 of job A, which knows rank 0 of job B as process 1, and the other way round.
class ShmBounceBuffersTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(shm::Segment::create(shm::SegmentPlan::for_ranks(1), a_job_).ok());
    ASSERT_TRUE(shm::Segment::create(shm::SegmentPlan::for_ranks(1), b_job_).ok());
    ASSERT_TRUE(shm::Segment::create(shm::SegmentPlan::for_ranks(2), bridge_).ok());
    a_in_bridge_.emplace(bridge_, 0, nullptr, std::vector<int>{0, 1});
    b_in_bridge_.emplace(bridge_, 1, nullptr, std::vector<int>{1, 0});
    for (int place : {0, 1}) bridge_.rank(place).home_rank = 1;
    a_node_.emplace(a_job_, 0);
    b_node_.emplace(b_job_, 0);
    a_node_->set_foreign(1, {&*a_in_bridge_, &b_job_, nullptr});
    b_node_->set_foreign(1, {&*b_in_bridge_, &a_job_, nullptr});
    a_.emplace(*a_node_);
    b_.emplace(*b_node_);
  }

  shm::Segment a_job_;
  shm::Segment b_job_;
  shm::Segment bridge_;
  std::optional<shm::Node> a_in_bridge_;
  std::optional<shm::Node> b_in_bridge_;
  std::optional<shm::Node> a_node_;
  std::optional<shm::Node> b_node_;
  std::optional<ShmBounceBuffers> a_;
  std::optional<ShmBounceBuffers> b_;
};

TEST_F(ShmBounceBuffersTest, AnotherJobReadsAndReleasesARun) {
  const int run = a_->take(100, {});
  ASSERT_GE(run, 0);
  const uint32_t ticket = a_->ticket(0, run);
  std::memset(a_->memory(0, run, 100), 5, 100);
  const std::byte* seen = b_->memory(1, run, 100);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen[99], std::byte{5});
  EXPECT_FALSE(a_->returned(0, run, ticket));
  a_job_.rank(0).asleep = 1;
  b_->release(1, run, 1);
  EXPECT_TRUE(a_->returned(0, run, ticket));
  EXPECT_EQ(a_job_.rank(0).asleep, 0u) << "the owner sleeps on the word of its own job";
}

TEST_F(ShmBounceBuffersTest, ARecycledRunGoesBackAndForth) {
  const int run = a_->take(100, {});
  const uint32_t first = a_->ticket(0, run);
  // B keeps it and fills it with a message to A.
  const uint32_t second = b_->ticket(1, run);
  std::memset(b_->memory(1, run, 100), 6, 100);
  EXPECT_FALSE(b_->returned(1, run, second));
  EXPECT_EQ(a_->memory(0, run, 100)[0], std::byte{6});
  a_->release(0, run, 1);
  EXPECT_TRUE(b_->returned(1, run, second));
  EXPECT_TRUE(a_->returned(0, run, first));
}

TEST_F(ShmBounceBuffersTest, OnlyRunsOfTheOwnersPoolExist) {
  const auto buffers = static_cast<int>(a_job_.geometry().buffer_count);
  EXPECT_NE(b_->memory(1, buffers - 1, 1), nullptr);
  EXPECT_EQ(b_->memory(1, buffers, 1), nullptr);
  EXPECT_EQ(b_->memory(1, -1, 1), nullptr);
  EXPECT_EQ(b_->memory(1, buffers - 1, a_job_.geometry().buffer_bytes + 1), nullptr);
  EXPECT_EQ(b_->memory(2, 0, 1), nullptr) << "a process that is not known";
}

}  // namespace
}  // namespace hearth::transport
