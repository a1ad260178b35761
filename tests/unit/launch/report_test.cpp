#include "launch/report.h"

#include <gtest/gtest.h>

namespace hearth::launch {
namespace {

using os::ProcessEnd;
using shm::RankPhase;

TEST(Cause, OfEveryEnd) {
  EXPECT_EQ(cause_of({false, 0}, RankPhase::outside), Cause::none);
  EXPECT_EQ(cause_of({false, 0}, RankPhase::finalized), Cause::none);
  EXPECT_EQ(cause_of({false, 0}, RankPhase::initialized), Cause::no_finalize);
  EXPECT_EQ(cause_of({false, 3}, RankPhase::finalized), Cause::exit_code);
  EXPECT_EQ(cause_of({true, SIGSEGV}, RankPhase::finalized), Cause::signal);
}

TEST(ExitCode, NeverZero) {
  EXPECT_EQ(exit_code_of({true, SIGSEGV}), 139);
  EXPECT_EQ(exit_code_of({false, 3}), 3);
  EXPECT_EQ(exit_code_of({false, 0}), 1);
}

TEST(End, IsDescribed) {
  EXPECT_NE(describe_end({true, SIGKILL}, Cause::signal, true).find("memory ran out, and the kernel"),
            std::string::npos);
  EXPECT_NE(describe_end({true, SIGKILL}, Cause::signal, false).find("another process killed it"),
            std::string::npos);
  EXPECT_EQ(describe_end({true, 64}, Cause::signal, false), "was killed by signal 64");
  EXPECT_NE(describe_end({false, 0}, Cause::no_finalize, false).find("without MPI_Finalize"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::launch
