#include "shm/buffer_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "shm/segment.h"

namespace hearth::shm {
namespace {

constexpr uint32_t kBuffers = 384;
constexpr size_t kBufferBytes = 4096;
constexpr int kOwner = 1;

struct BufferPoolTest : testing::Test {
  void SetUp() override { set_up(2); }
  void set_up(uint32_t ranks) {
    SegmentPlan plan;
    plan.rank_count = ranks;
    plan.ring_lines = 64;
    plan.buffer_bytes = kBufferBytes;
    plan.buffer_count = kBuffers;
    ASSERT_TRUE(Segment::create(plan, segment).ok());
    pool = BufferPool(segment, kOwner);
  }
  int take(size_t buffers, bool patient = false) {
    return pool.take(buffers * kBufferBytes, false, 0, patient);
  }
  void release(int run) { BufferPool::mark_free(segment, kOwner, run); }

  Segment segment;
  BufferPool pool;
};

// The first use of a page is expensive, so a sender whose runs return in time begins with few pages.
TEST_F(BufferPoolTest, EachRoundCoversMoreOfThePool) {
  std::vector<int> last;  // by round
  int before = kBuffers;
  for (int i = 0; i < 20'000; ++i) {
    const int run = take(1);
    ASSERT_GE(run, 0);
    release(run);
    if (run < before) last.push_back(0);
    last.back() = before = run;
  }
  EXPECT_LT(last.front(), 64);
  last.pop_back();  // the last round may be incomplete
  EXPECT_TRUE(std::is_sorted(last.begin(), last.end()));
  EXPECT_EQ(last.back(), kBuffers - 1);
}

TEST_F(BufferPoolTest, AllBuffersAreThereForWhatIsNotReturned) {
  std::set<int> runs;
  for (int run = take(1); run >= 0; run = take(1)) EXPECT_TRUE(runs.insert(run).second) << run;
  EXPECT_EQ(runs.size(), kBuffers);
}

// There, no pages are populated in advance.
TEST_F(BufferPoolTest, ThePoolOfALargeJobWorksAlike) {
  set_up(40);
  std::vector<int> runs;
  for (int run = take(4); run >= 0; run = take(4)) runs.push_back(run);
  EXPECT_EQ(runs.size(), kBuffers / 4);
  for (const int run : runs) release(run);
  for (size_t i = 0; i < 2 * runs.size(); ++i) {
    const int run = take(4);
    ASSERT_GE(run, 0);
    release(run);
  }
}

TEST_F(BufferPoolTest, RunsOfAllLengthsFitAnEmptyPool) {
  for (size_t buffers = 1; buffers <= kBuffers / 4; ++buffers) {
    const int run = take(buffers);
    ASSERT_GE(run, 0) << buffers;
    release(run);
  }
}

// While its runs return, a patient sender uses the same pages again; without them it gets others in the end.
TEST_F(BufferPoolTest, APatientSenderWaitsBeforeItUsesNewPages) {
  std::vector<int> runs;
  for (int run = take(16, true); run >= 0; run = take(16, true)) runs.push_back(run);
  ASSERT_EQ(runs.size(), 5u) << "a first round, and what it adds to the second one";
  EXPECT_EQ(take(16, true), -1);
  release(runs[0]);
  int run = -1;
  for (int i = 0; i < 100 && run < 0; ++i) run = take(16, true);
  EXPECT_EQ(run, runs[0]);
  int calls = 1;
  for (run = -1; run < 0 && calls < 10'000; ++calls) run = take(16, true);
  EXPECT_GT(run, runs.back());
  EXPECT_GT(calls, 100);
  EXPECT_GE(take(16), 0) << "an impatient sender does not wait";
}

// A call on a full pool checks a few runs, but the next calls check the others.
TEST_F(BufferPoolTest, AFullPoolNoticesAReturnedRunSoon) {
  std::vector<int> runs;
  for (int run = take(1); run >= 0; run = take(1)) runs.push_back(run);
  for (const size_t returned : {size_t{0}, size_t{100}, runs.size() - 1}) {
    release(runs[returned]);
    int run = -1;
    int calls = 0;
    for (; run < 0 && calls < 100; ++calls) run = take(1);
    EXPECT_EQ(run, runs[returned]);
    EXPECT_LE(calls, 60);
    EXPECT_EQ(take(1), -1);
  }
}

}  // namespace
}  // namespace hearth::shm
