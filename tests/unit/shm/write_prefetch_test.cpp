#include "shm/write_prefetch.h"

#include <gtest/gtest.h>

#include "base/param.h"

namespace hearth::shm {
namespace {

TEST(WritePrefetch, TrialsThatGainNothingEndItAndTrialsThatGainResumeIt) {
  WritePrefetch prefetch;
  EXPECT_TRUE(prefetch.pays());
  for (int trial = 0; trial < 15; ++trial) prefetch.update(50, 50);
  prefetch.update(300, 50);  // the trials before it may have been disturbed
  for (int trial = 0; trial < 15; ++trial) prefetch.update(55, 50);
  EXPECT_TRUE(prefetch.pays());
  prefetch.update(40, 50);
  EXPECT_FALSE(prefetch.pays());
  prefetch.update(300, 50);  // an interrupt
  prefetch.update(50, 50);
  prefetch.update(300, 50);
  EXPECT_FALSE(prefetch.pays());
  prefetch.update(80, 50);
  EXPECT_TRUE(prefetch.pays());
}

// After trials without gain, two passes in each trial are left. The clock is not asked: under a sanitizer, no
// 16 trials in a row take equally long.
TEST(WritePrefetch, AUselessPrefetchRunsInTrialsOnly) {
  WritePrefetch prefetch;
  int passes = 0;
  const auto pass = [&passes] {
    ++passes;
    return true;
  };
  for (int call = 0; call < 10; ++call) EXPECT_TRUE(prefetch.run(pass));
  for (int trial = 0; trial < 16; ++trial) prefetch.update(50, 50);
  ASSERT_FALSE(prefetch.pays());
  passes = 0;
  for (int call = 0; call < 500; ++call) EXPECT_FALSE(prefetch.run(pass));
  EXPECT_EQ(passes, 0);
}

TEST(WritePrefetch, ARingWithoutRoomIsNoTrial) {
  WritePrefetch prefetch;
  for (int call = 0; call < 10'000; ++call) EXPECT_FALSE(prefetch.run([] { return false; }));
  EXPECT_TRUE(prefetch.pays());
}

TEST(WritePrefetch, TheParameterTurnsItOff) {
  const auto place = static_cast<size_t>(param::Id::p2p_prefetch_for_write);
  ASSERT_TRUE(param::set_number(place, 0));
  WritePrefetch prefetch;
  for (int call = 0; call < 1000; ++call) EXPECT_FALSE(prefetch.run([]() -> bool { throw 0; }));
  ASSERT_TRUE(param::set_number(place, 1));
}

}  // namespace
}  // namespace hearth::shm
