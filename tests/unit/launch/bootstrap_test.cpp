#include "launch/bootstrap.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/os_io.h"
#include "base/os_process.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

class BootstrapTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HEARTH_SEGMENT",
                             "HEARTH_ARENA",
                             "HEARTH_BOARD",
                             "HEARTH_RANK",
                             "HEARTH_APP",
                             "PMI_SIZE",
                             "OMPI_COMM_WORLD_SIZE",
                             "PALS_SIZE",
                             "MV2_COMM_WORLD_SIZE",
                             "PMIX_NAMESPACE",
                             "SLURM_STEP_ID",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_JOB_ID",
                             "SLURM_NTASKS",
                             "PMI_FD",
                             "PMI_PORT",
                             "PMI_ID",
                             "PMI_RANK",
                             "PMIX_RANK",
                             "PMIX_SERVER_URI2",
                             "HEARTH_JOINED"}) {
      ::unsetenv(name);
    }
  }
  // Prepares a job like mpiexec: the segment, and a descriptor of it that ranks inherit.
  void make_job(uint32_t ranks) {
    ASSERT_TRUE(shm::Segment::create(shm::SegmentPlan::for_ranks(ranks), job_).ok()) << last_failure_text();
    inherited_ = os::duplicate_out_of_the_way(job_.descriptor());
    name_segment(inherited_.number(), os::process_id());
  }
  void name_segment(int descriptor, int launcher) {
    const std::string words = std::to_string(descriptor) + ":" +
                              std::to_string(os::identity_of(job_.descriptor()).inode) + ":" +
                              std::to_string(launcher);
    ::setenv("HEARTH_SEGMENT", words.c_str(), 1);
  }
  // Prepares the arena too; the test keeps its own descriptor of it open.
  void make_arena(uint32_t ranks) {
    ASSERT_TRUE(shm::Arena::create(ranks, arena_).ok()) << last_failure_text();
    arena_for_rank_ = os::duplicate_out_of_the_way(arena_.descriptor());
    name_arena(arena_for_rank_.number());
  }
  void name_arena(int descriptor) {
    const std::string words = std::to_string(descriptor) + ":" +
                              std::to_string(os::identity_of(arena_.descriptor()).inode) + ":" +
                              std::to_string(os::process_id());
    ::setenv("HEARTH_ARENA", words.c_str(), 1);
  }
  static std::string refusal() {
    Bootstrap result;
    EXPECT_FALSE(bootstrap(result).ok());
    return last_failure_text();
  }

  shm::Segment job_;
  os::Descriptor inherited_;
  shm::Arena arena_;
  os::Descriptor arena_for_rank_;
};

TEST_F(BootstrapTest, AloneWithoutALauncher) {
  Bootstrap result;
  ASSERT_TRUE(bootstrap(result).ok()) << last_failure_text();
  EXPECT_TRUE(result.singleton);
  EXPECT_EQ(result.rank, 0);
  EXPECT_EQ(result.size, 1);
  EXPECT_TRUE(result.segment.mapped());
  EXPECT_GE(result.segment.job().usable_processors, 1u);
}

TEST_F(BootstrapTest, JoinsTheJob) {
  make_job(3);
  ::setenv("HEARTH_RANK", "2", 1);
  ::setenv("HEARTH_APP", "1", 1);
  Bootstrap result;
  ASSERT_TRUE(bootstrap(result).ok()) << last_failure_text();
  inherited_.release();  // the segment owns it now
  EXPECT_FALSE(result.singleton);
  EXPECT_EQ(result.rank, 2);
  EXPECT_EQ(result.size, 3);
  EXPECT_EQ(result.app, 1);
  result.segment.rank(2).pid = 77;
  EXPECT_EQ(job_.rank(2).pid, 77u) << "not the same memory";
}

TEST_F(BootstrapTest, MapsItsSliceOfTheArena) {
  make_job(3);
  make_arena(3);
  ::setenv("HEARTH_RANK", "2", 1);
  Bootstrap result;
  ASSERT_TRUE(bootstrap(result).ok()) << last_failure_text();
  inherited_.release();
  arena_for_rank_.release();
  ASSERT_TRUE(result.arena.usable()) << result.arena.reason();
  std::byte* memory = result.arena.grow(shm::Arena::Half::blocks, 4096, 4096);
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(result.arena.holds(memory, 4096));
  EXPECT_EQ(result.arena.memory_of(2, 0, 4096), memory) << "not the window of its rank";
}

TEST_F(BootstrapTest, TheLauncherLendsItsArena) {
  make_job(2);
  make_arena(2);
  ::setenv("HEARTH_RANK", "1", 1);
  const int pid = os::fork_process();
  if (pid == 0) {
    arena_for_rank_.reset();
    Bootstrap result;
    os::end_process(bootstrap(result).ok() && result.arena.usable() ? 0 : 1);
  }
  os::ProcessEnd end;
  while (!os::has_ended(pid, end)) {
  }
  os::reap(pid);
  EXPECT_EQ(end.code, 0);
}

TEST_F(BootstrapTest, AJobWorksWithoutItsArena) {
  make_job(2);
  make_arena(3);  // of another job size
  ::setenv("HEARTH_RANK", "1", 1);
  struct Case {
    const char* words;
    const char* reason;
  };
  const std::string wrong = std::getenv("HEARTH_ARENA");
  for (const Case& broken :
       {Case{nullptr, "could not make one"}, Case{"3:x", "could not make one"},
        Case{"987654:1:1", "has closed its descriptor"}, Case{wrong.c_str(), "not the arena of 2 ranks"}}) {
    ::unsetenv("HEARTH_ARENA");
    if (broken.words != nullptr) ::setenv("HEARTH_ARENA", broken.words, 1);
    name_segment(os::duplicate_out_of_the_way(job_.descriptor()).release(), os::process_id());
    Bootstrap result;
    ASSERT_TRUE(bootstrap(result).ok()) << last_failure_text();
    EXPECT_FALSE(result.arena.usable());
    EXPECT_NE(result.arena.reason().find(broken.reason), std::string::npos) << result.arena.reason();
  }
  arena_for_rank_.release();
}

TEST_F(BootstrapTest, AnotherLaunchersVariablesAreNeverNothing) {
  struct Case {
    const char* name;
    const char* value;
    const char* hint;
  };
  for (const Case& foreign :
       {Case{"PMI_SIZE", "4", "mpiexec -n 4"}, Case{"OMPI_COMM_WORLD_SIZE", "2", "mpiexec -n 2"},
        Case{"PMIX_NAMESPACE", "job", "mpiexec -n N"}}) {
    ::setenv(foreign.name, foreign.value, 1);
    const std::string text = refusal();
    EXPECT_NE(text.find(foreign.hint), std::string::npos) << text;
    EXPECT_NE(text.find(foreign.name), std::string::npos) << text;
    ::unsetenv(foreign.name);
  }
  ::setenv("SLURM_STEP_ID", "0", 1);
  ::setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  EXPECT_NE(refusal().find("mpiexec -n 8"), std::string::npos);
}

TEST_F(BootstrapTest, AnotherLauncherOfOneRankIsFine) {
  ::setenv("PMI_SIZE", "1", 1);
  ::setenv("PMIX_NAMESPACE", "job", 1);
  Bootstrap result;
  EXPECT_TRUE(bootstrap(result).ok());
  EXPECT_TRUE(result.singleton);
}

TEST_F(BootstrapTest, RunningAloneInASlurmJobOfSeveralTasksIsNoted) {
  ::setenv("SLURM_JOB_ID", "7", 1);
  ::setenv("SLURM_NTASKS", "4", 1);
  Bootstrap result;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(bootstrap(result).ok());
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(result.singleton);
  EXPECT_NE(told.find("outside srun in a Slurm job of 4 tasks"), std::string::npos) << told;
  EXPECT_NE(told.find("mpiexec -n 4 unit_launch"), std::string::npos) << told;
  ::setenv("SLURM_NTASKS", "1", 1);
  EXPECT_EQ(note_about_running_alone(), "");
}

TEST_F(BootstrapTest, SpoiledVariablesAreRefused) {
  for (const char* words : {"", "3", "3:4", "x:1:2", "3:4:5:6", "-1:4:5", "3:4:5 ", "99999999999:1:1"}) {
    ::setenv("HEARTH_SEGMENT", words, 1);
    EXPECT_NE(refusal().find("HEARTH_SEGMENT='"), std::string::npos) << words;
  }
  make_job(2);
  for (const char* rank : {"", "x", "-1", "1x"}) {
    ::setenv("HEARTH_RANK", rank, 1);
    EXPECT_NE(refusal().find("HEARTH_RANK='"), std::string::npos) << rank;
  }
  ::setenv("HEARTH_RANK", "2", 1);
  EXPECT_NE(refusal().find("HEARTH_RANK is 2 in a job of 2 ranks"), std::string::npos);
  inherited_.release();
}

TEST_F(BootstrapTest, ASecondProgramInTheSameRankIsRefused) {
  make_job(2);
  ::setenv("HEARTH_RANK", "1", 1);
  job_.rank(1).phase = static_cast<uint32_t>(shm::RankPhase::finalized);
  job_.rank(1).pid = 4711;
  EXPECT_NE(refusal().find("process 4711 has been rank 1 of this job already"), std::string::npos);
  inherited_.release();
}

TEST_F(BootstrapTest, WithTheDescriptorClosedOnTheWayTheLauncherLendsItsOwn) {
  make_job(2);
  ::setenv("HEARTH_RANK", "1", 1);
  // The launcher (here this process) has the segment open under a descriptor number that the rank has closed.
  const int pid = os::fork_process();
  if (pid == 0) {
    inherited_.reset();
    Bootstrap result;
    const bool joined = bootstrap(result).ok() && !result.singleton && result.rank == 1;
    if (joined) result.segment.rank(1).pid = 77;
    os::end_process(joined ? 0 : 1);
  }
  os::ProcessEnd end;
  while (!os::has_ended(pid, end)) {
  }
  os::reap(pid);
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(job_.rank(1).pid, 77u);
}

TEST_F(BootstrapTest, AProgramThatARankStartsRunsAlone) {
  make_job(2);
  ::setenv("HEARTH_RANK", "1", 1);
  job_.rank(1).phase = static_cast<uint32_t>(shm::RankPhase::initialized);
  const int pid = os::fork_process();
  if (pid == 0) {
    inherited_.reset();
    Bootstrap result;
    const bool alone = bootstrap(result).ok() && result.singleton && result.size == 1;
    os::end_process(alone ? 0 : 1);
  }
  os::ProcessEnd end;
  while (!os::has_ended(pid, end)) {
  }
  os::reap(pid);
  EXPECT_EQ(end.code, 0);
}

TEST_F(BootstrapTest, WithoutDescriptorAndLauncherItStops) {
  make_job(2);
  ::setenv("HEARTH_RANK", "0", 1);
  const int descriptor = inherited_.number();
  inherited_.reset();
  name_segment(descriptor, (1 << 30) - 1);  // no process has this id
  EXPECT_NE(refusal().find("a program between mpiexec and this one has closed it"), std::string::npos);
}

}  // namespace
}  // namespace hearth::launch
