#include "launch/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hearth::launch {
namespace {

using Words = std::vector<std::string>;

JobSpec parsed(const Words& words) {
  JobSpec job;
  EXPECT_TRUE(parse_command_line(words, job).ok()) << last_failure_text();
  return job;
}

std::string refusal(const Words& words) {
  JobSpec job;
  EXPECT_FALSE(parse_command_line(words, job).ok());
  return last_failure_text();
}

class Options : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("MPIEXEC_TIMEOUT"); }
};

TEST_F(Options, OneProgram) {
  const JobSpec job = parsed({"-n", "4", "prog", "-n", "5"});
  ASSERT_EQ(job.programs.size(), 1u);
  EXPECT_EQ(job.programs[0].ranks, 4);
  EXPECT_EQ(job.programs[0].command, (Words{"prog", "-n", "5"}));
}

TEST_F(Options, SeveralProgramsHaveOptionsOfTheirOwn) {
  const JobSpec job =
      parsed({"-n", "1", "-wdir", "/a", "-env", "X", "1", "p", ":", "-n", "2", "-x", "Y=2", "q", "r"});
  ASSERT_EQ(job.programs.size(), 2u);
  EXPECT_EQ(job.programs[0].folder, "/a");
  EXPECT_EQ(job.programs[1].folder, "");
  EXPECT_EQ(job.programs[0].environment[0].value, "1");
  EXPECT_EQ(job.programs[1].environment[0].name, "Y");
  EXPECT_EQ(job.programs[1].command, (Words{"q", "r"}));
}

TEST_F(Options, OneDashOrTwoAndEqualsSigns) {
  for (const char* option : {"-timeout", "--timeout"})
    EXPECT_EQ(parsed({option, "2", "p"}).timeout_ns, 2'000'000'000u);
  EXPECT_EQ(parsed({"--timeout=0.5", "p"}).timeout_ns, 500'000'000u);
  EXPECT_EQ(parsed({"--timeout=0.5", "p"}).why_ns, 0u);
  EXPECT_EQ(parsed({"--why", "p"}).why_ns, 5'000'000'000u) << "its value can only be joined to it";
  EXPECT_EQ(parsed({"--why", "p"}).programs[0].command[0], "p");
  EXPECT_EQ(parsed({"-why=0.5", "p"}).why_ns, 500'000'000u);
  EXPECT_EQ(parsed({"--np=3", "p"}).programs[0].ranks, 3);
  EXPECT_NE(refusal({"--oversubscribe=1", "p"}).find("takes no value"), std::string::npos);
}

TEST_F(Options, DashesOnlyEndOptions) {
  EXPECT_EQ(parsed({"-n", "2", "--", "-odd"}).programs[0].command, Words{"-odd"});
}

TEST_F(Options, SetsVariablesInAllSpellings) {
  const JobSpec job =
      parsed({"-genv", "A", "1", "-genv", "B=2", "-genvlist", "C,D", "-x", "E", "-x", "F=", "p"});
  ASSERT_EQ(job.environment.size(), 4u);
  EXPECT_EQ(job.environment[1].name, "B");
  EXPECT_EQ(job.environment[1].value, "2");
  EXPECT_TRUE(job.environment[3].pass_on);
  EXPECT_TRUE(job.programs[0].environment[0].pass_on);
  EXPECT_FALSE(job.programs[0].environment[1].pass_on);
  const JobSpec in_one_word = parsed({"--genv=A=1", "p"});
  ASSERT_EQ(in_one_word.environment.size(), 1u);
  EXPECT_EQ(in_one_word.environment[0].name, "A");
  EXPECT_EQ(in_one_word.environment[0].value, "1");
  EXPECT_EQ(in_one_word.programs[0].command, Words{"p"});
}

TEST_F(Options, TimeLimitFromTheEnvironmentIsOverridden) {
  ::setenv("MPIEXEC_TIMEOUT", "7", 1);
  EXPECT_EQ(parsed({"p"}).timeout_ns, 7'000'000'000u);
  EXPECT_EQ(parsed({"-timeout", "1", "p"}).timeout_ns, 1'000'000'000u);
  ::setenv("MPIEXEC_TIMEOUT", "-1", 1);
  EXPECT_NE(refusal({"p"}).find("MPIEXEC_TIMEOUT needs a number of seconds"), std::string::npos);
}

TEST_F(Options, Placement) {
  PlacementRequest request = parsed({"--map-by", "ppr:2:socket:PE=3", "--bind-to", "core", "p"}).placement;
  EXPECT_EQ(request.map, Level::package);
  EXPECT_EQ(request.ranks_per_object, 2);
  EXPECT_EQ(request.cores_per_rank, 3);
  EXPECT_EQ(request.bind, Level::core);
  request = parsed({"-bind-to", "Core:4", "-map-by", "L3cache", "p"}).placement;
  EXPECT_EQ(request.map, Level::l3);
  EXPECT_EQ(request.cores_per_rank, 4);
  EXPECT_TRUE(parsed({"--map-by", ":OVERSUBSCRIBE", "p"}).placement.oversubscribe);
  EXPECT_NE(refusal({"--bind-to", "chair", "p"}).find("'chair' is no part of a machine"), std::string::npos);
  EXPECT_NE(refusal({"--map-by", "core:fast", "p"}).find("'fast' is not known behind ':'"),
            std::string::npos);
}

TEST_F(Options, PlacementInOlderWords) {
  EXPECT_EQ(parsed({"-bind-to-core", "p"}).placement.bind, Level::core);
  EXPECT_EQ(parsed({"-bind-to-socket", "p"}).placement.bind, Level::package);
  EXPECT_EQ(parsed({"-bind-to-none", "p"}).placement.bind, Level::none);
  EXPECT_EQ(parsed({"-bycore", "p"}).placement.map, Level::core);
  EXPECT_EQ(parsed({"-bysocket", "p"}).placement.map, Level::package);
  EXPECT_EQ(parsed({"--use-hwthread-cpus", "p"}).placement.bind, Level::hwthread);
  EXPECT_EQ(parsed({"--use-hwthread-cpus", "--bind-to", "l3", "p"}).placement.bind, Level::l3);
  EXPECT_EQ(parsed({"--cpu-set", "0,2-4", "p"}).placement.only_processors, (std::vector<int>{0, 2, 3, 4}));
  EXPECT_EQ(parsed({"--place-by", "m.json", "p"}).traffic_file, "m.json");
  EXPECT_TRUE(parsed({"--do-not-launch", "p"}).do_not_launch);
}

TEST_F(Options, UnknownOnesComeWithTheNearestName) {
  EXPECT_NE(refusal({"--tag-ouput", "p"}).find("did you mean '--tag-output'?"), std::string::npos);
  EXPECT_EQ(refusal({"--something-else-entirely", "p"}).find("did you mean"), std::string::npos);
}

TEST_F(Options, IgnoredOnesAreCollectedAsWritten) {
  const JobSpec job = parsed({"--mca", "a", "b", "-mca", "c", "d", "--display-allocation", "p"});
  EXPECT_EQ(job.ignored,
            (std::vector<Words>{{"--mca", "a", "b"}, {"-mca", "c", "d"}, {"--display-allocation"}}));
  EXPECT_EQ(job.programs[0].command, Words{"p"});
}

TEST_F(Options, HelpNamesEveryOptionOnce) {
  EXPECT_TRUE(parsed({"--help"}).show_help);
  EXPECT_TRUE(parsed({"-V"}).show_version);
  const std::string help = help_text();
  EXPECT_NE(help.find("--bind-to"), std::string::npos);
  EXPECT_NE(help.find("--mca"), std::string::npos);
  size_t start = 0;
  for (size_t end; (end = help.find('\n', start)) != std::string::npos; start = end + 1) {
    EXPECT_LE(end - start, 130u) << help.substr(start, end - start);
  }
}

}  // namespace
}  // namespace hearth::launch
