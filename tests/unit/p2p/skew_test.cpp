#include "p2p/skew.h"

#include <gtest/gtest.h>

namespace hearth::p2p {
namespace {

constexpr uint64_t kBytes = 1 << 20;
constexpr uint64_t kInTimeNs = 40'000;
constexpr uint64_t kLateNs = 2'000'000;

// The number of messages through bounce buffers before the next zero-copy exposure, which begins.
int run_of_buffered(Skew& skew) {
  int run = 0;
  while (skew.prefers_bounce_buffers()) ++run;
  skew.zero_copy_began();
  return run;
}

void end_lent(Skew& skew, uint64_t waited_ns) {
  skew.zero_copy_ended();
  skew.update(kBytes, waited_ns);
}

TEST(Skew, AReceiverInTimeIsLentTo) {
  Skew skew;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(skew.prefers_bounce_buffers());
    end_lent(skew, kInTimeNs);
  }
}

TEST(Skew, RunsThroughBounceBuffersGrowAsLongAsTheReceiverLagsAndEnd) {
  Skew skew;
  int last = 0;
  for (int i = 0; i < 12; ++i) {
    end_lent(skew, kLateNs);
    const int run = run_of_buffered(skew);
    EXPECT_GE(run, last);
    last = run;
  }
  EXPECT_EQ(last, 1024) << "a receiver that catches up is noticed after so many at the latest";
}

TEST(Skew, OneCopyInTimeEndsItAndSeveralMakeItForgotten) {
  Skew skew;
  for (int i = 0; i < 5; ++i) {
    end_lent(skew, kLateNs);
    run_of_buffered(skew);
  }
  end_lent(skew, kInTimeNs);
  EXPECT_FALSE(skew.prefers_bounce_buffers());
  end_lent(skew, kLateNs);
  EXPECT_EQ(run_of_buffered(skew), 512) << "one was in time by chance";
  for (int i = 0; i < 16; ++i) end_lent(skew, kInTimeNs);
  end_lent(skew, kLateNs);
  EXPECT_EQ(run_of_buffered(skew), 16) << "the receiver was back: the next time starts small again";
}

TEST(Skew, OneMessageAtATimeIsOnTrial) {
  Skew skew;
  end_lent(skew, kLateNs);
  EXPECT_EQ(run_of_buffered(skew), 16);
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(skew.prefers_bounce_buffers()) << "nothing is known of the one yet";
  skew.zero_copy_ended();
  EXPECT_FALSE(skew.prefers_bounce_buffers()) << "no process waited for it";
}

// A sample of the stores, a private buffer or an arena without addresses can prevent the zero copy.
TEST(Skew, AMessageThatIsNotSentByZeroCopyIsNoTrial) {
  Skew skew;
  end_lent(skew, kLateNs);
  while (skew.prefers_bounce_buffers()) continue;
  EXPECT_FALSE(skew.prefers_bounce_buffers()) << "the trial has not begun";
  skew.zero_copy_began();
  EXPECT_TRUE(skew.prefers_bounce_buffers());
}

TEST(Skew, MessagesLentTogetherAreLateTogether) {
  Skew skew;
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(skew.prefers_bounce_buffers());
  for (int i = 0; i < 8; ++i) end_lent(skew, kLateNs);
  EXPECT_EQ(run_of_buffered(skew), 16);
}

TEST(Skew, ALongCopyIsNoLag) {
  Skew skew;
  skew.zero_copy_ended();
  skew.update(64 << 20, 4'000'000);
  EXPECT_FALSE(skew.prefers_bounce_buffers());
}

}  // namespace
}  // namespace hearth::p2p
