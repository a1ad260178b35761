#include "launch/report.h"

#include <gtest/gtest.h>

#include "mpi.h"

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
  EXPECT_NE(describe_end({true, SIGKILL}, Cause::signal, false).find("somebody ended it"), std::string::npos);
  EXPECT_EQ(describe_end({true, 64}, Cause::signal, false), "was killed by signal 64");
  EXPECT_NE(describe_end({false, 0}, Cause::no_finalize, false).find("without MPI_Finalize"),
            std::string::npos);
}

TEST(State, IsDescribed) {
  shm::RankBlock block = {};
  EXPECT_EQ(describe_state(block, 0), "has not called MPI_Init");
  block.phase = static_cast<uint32_t>(RankPhase::finalized);
  EXPECT_EQ(describe_state(block, 0), "has called MPI_Finalize and not ended yet");
  block.phase = static_cast<uint32_t>(RankPhase::initialized);
  EXPECT_NE(describe_state(block, 0).find("computes"), std::string::npos);

  block.status.kind = static_cast<uint32_t>(shm::WaitKind::receive);
  block.status.peer = 3;
  block.status.tag = 7;
  block.status.since_ns = 1'000'000'000;
  EXPECT_EQ(describe_state(block, 3'500'000'000), "waits in a receive from rank 3, tag 7, for 2.5 s");
  block.status.peer = MPI_ANY_SOURCE;
  block.status.tag = MPI_ANY_TAG;
  EXPECT_EQ(describe_state(block, 0), "waits in a receive from any rank, any tag");
  block.status = {static_cast<uint32_t>(shm::WaitKind::send), 1, 2, 4, 64, 0};
  EXPECT_EQ(describe_state(block, 0), "waits in a send to rank 1, tag 2, 64 bytes");
  block.status.context = 5;
  EXPECT_EQ(describe_state(block, 0), "waits in a collective operation for rank 1");
}

}  // namespace
}  // namespace hearth::launch
