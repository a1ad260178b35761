#include "p2p/skew.h"

#include <gtest/gtest.h>

namespace hearth::p2p {
namespace {

constexpr uint64_t kBytes = 1 << 20;
constexpr uint64_t kInTimeNs = 40'000;
constexpr uint64_t kLateNs = 2'000'000;

int run_of_buffered(Skew& skew) {
  int run = 0;
  while (skew.prefers_cells()) ++run;
  return run;
}

TEST(Skew, AReceiverInTimeIsLentTo) {
  Skew skew;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(skew.prefers_cells());
    skew.judge(kBytes, kInTimeNs);
  }
}

TEST(Skew, RunsThroughCellsGrowAsLongAsTheReceiverLagsAndEnd) {
  Skew skew;
  int last = 0;
  for (int i = 0; i < 12; ++i) {
    skew.judge(kBytes, kLateNs);
    const int run = run_of_buffered(skew);
    EXPECT_GE(run, last);
    last = run;
  }
  EXPECT_EQ(last, 512) << "a receiver that catches up is noticed after so many at the latest";
}

TEST(Skew, OneCopyInTimeEndsIt) {
  Skew skew;
  for (int i = 0; i < 5; ++i) {
    skew.judge(kBytes, kLateNs);
    run_of_buffered(skew);
  }
  skew.judge(kBytes, kInTimeNs);
  EXPECT_FALSE(skew.prefers_cells());
  skew.judge(kBytes, kLateNs);
  EXPECT_EQ(run_of_buffered(skew), 16) << "and the next time starts small again";
}

TEST(Skew, ALongCopyIsNoLag) {
  Skew skew;
  skew.judge(64 << 20, 4'000'000);
  EXPECT_FALSE(skew.prefers_cells());
}

}  // namespace
}  // namespace hearth::p2p
