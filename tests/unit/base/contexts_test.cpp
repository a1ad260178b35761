// The blocks of context ids that machines count.
#include "base/contexts.h"

#include <gtest/gtest.h>

#include <set>

namespace hearth {
namespace {

TEST(Contexts, BlocksOfSeveralMachinesDoNotOverlap) {
  std::set<uint32_t> seen;
  constexpr uint32_t kMachines = 3;
  for (uint32_t block = 0; block < 100; ++block) {
    for (uint32_t machine = 0; machine < kMachines; ++machine) {
      const uint32_t context = new_context_block(block * kContextsEach, kMachines, machine);
      EXPECT_GE(context, kFirstFreeContext);
      EXPECT_EQ(context % kContextsEach, 0u);
      EXPECT_TRUE(seen.insert(context).second) << context;
    }
  }
}

// The counter has 32 bits. No block begins again at the ids of MPI_COMM_WORLD.
TEST(Contexts, AreNotUsedAgainAfterTheLast) {
  for (const uint32_t machines : {1u, 2u, 7u}) {
    const uint32_t machine = machines - 1;
    uint32_t last =
        (kJointContext - kSpareContexts - kFirstFreeContext) / machines / kContextsEach * kContextsEach;
    while (new_context_block(last, machines, machine) == 0) last -= kContextsEach;
    EXPECT_GE(last, kSpareContexts);
    for (uint32_t counted = last + kContextsEach; counted <= last + kSpareContexts;
         counted += kContextsEach) {
      ASSERT_EQ(new_context_block(counted, machines, machine), 0u) << counted;
    }
  }
  // A counter that has just wrapped: JobHeader::next_context less kFirstFreeContext.
  EXPECT_EQ(new_context_block(0u - kFirstFreeContext, 1, 0), 0u);
}

TEST(Contexts, OfConnectionsDifferFromThoseOfAJob) {
  EXPECT_EQ(joint_context_block(0, 0), kJointContext);
  EXPECT_TRUE(is_joint(joint_context_block(3, 4)));
  EXPECT_FALSE(is_joint(new_context_block(1 << 20, 1, 0)));
  EXPECT_EQ(connection_of(joint_context_block(3, 4)), 3u);
  EXPECT_EQ(connection_of(joint_context_block(kConnectionsMax - 1, 8)), kConnectionsMax - 1);
  EXPECT_LT(joint_context_block(kConnectionsMax - 1, (1 << kJointCountBits) - kContextsEach), kOfferContext);
  EXPECT_EQ(joint_context_block(3, 1 << kJointCountBits), 0u);
}

}  // namespace
}  // namespace hearth
