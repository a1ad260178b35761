// Hearth's declarations of PMIx, compared with the header of an installed PMIx.
#include "launch/bootstrap_pmix_types.h"

#include <gtest/gtest.h>
#include <pmix.h>

#include <type_traits>

namespace hearth::launch::pmix {
namespace {

TEST(PmixTypes, AreLaidOutAsInTheHeader) {
  EXPECT_EQ(sizeof(Process), sizeof(pmix_proc_t));
  EXPECT_EQ(offsetof(Process, rank), offsetof(pmix_proc_t, rank));
  EXPECT_EQ(sizeof(Value), sizeof(pmix_value_t));
  EXPECT_EQ(offsetof(Value, data), offsetof(pmix_value_t, data));
  EXPECT_EQ(sizeof(Info), sizeof(pmix_info_t));
  EXPECT_EQ(offsetof(Info, flags), offsetof(pmix_info_t, flags));
  EXPECT_EQ(offsetof(Info, value), offsetof(pmix_info_t, value));
}

TEST(PmixTypes, HaveTheHeadersNumbers) {
  EXPECT_EQ(kSuccess, PMIX_SUCCESS);
  EXPECT_EQ(kErrorTimeout, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(kRankWildcard, PMIX_RANK_WILDCARD);
  EXPECT_EQ(kScopeGlobal, PMIX_GLOBAL);
  EXPECT_EQ(kTypeBool, PMIX_BOOL);
  EXPECT_EQ(kTypeString, PMIX_STRING);
  EXPECT_EQ(kTypeInt, PMIX_INT);
  EXPECT_EQ(kTypeUint32, PMIX_UINT32);
  EXPECT_STREQ(kKeyJobSize, PMIX_JOB_SIZE);
  EXPECT_STREQ(kKeyAppNumber, PMIX_APPNUM);
  EXPECT_STREQ(kKeyCollect, PMIX_COLLECT_DATA);
  EXPECT_STREQ(kKeyTimeout, PMIX_TIMEOUT);
}

// Whether two functions take the same number of arguments, each of the same size.
template <class... Ours, class... Theirs>
constexpr bool alike(int (*)(Ours...), pmix_status_t (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return ((sizeof(Ours) == sizeof(Theirs)) && ...);
  }
  return false;
}
static_assert(alike(decltype(Functions::init)(), decltype (&PMIx_Init)()));
static_assert(alike(decltype(Functions::finalize)(), decltype (&PMIx_Finalize)()));
static_assert(alike(decltype(Functions::abort)(), decltype (&PMIx_Abort)()));
static_assert(alike(decltype(Functions::put)(), decltype (&PMIx_Put)()));
static_assert(alike(decltype(Functions::commit)(), decltype (&PMIx_Commit)()));
static_assert(alike(decltype(Functions::fence)(), decltype (&PMIx_Fence)()));
static_assert(alike(decltype(Functions::get)(), decltype (&PMIx_Get)()));

}  // namespace
}  // namespace hearth::launch::pmix
