#include "launch/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace hearth::launch {
namespace {

using Words = std::vector<std::string>;

template <size_t N>
Words environment_from(std::array<std::string, N> own, const JobSpec& job, const ProgramSpec& program) {
  std::vector<char*> pointers;
  for (std::string& entry : own) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return program_environment(job, program, pointers.data());
}

TEST(Environment, OuterLaunchersAreForgotten) {
  const Words words =
      environment_from<5>({"PATH=/bin", "PMI_FD=3", "PMIX_SERVER_URI4=x", "HEARTH_RANK=2", "A=1"}, {}, {});
  EXPECT_EQ(words, (Words{"PATH=/bin", "A=1"}));
}

TEST(Environment, LaterChangesWin) {
  JobSpec job;
  job.environment = {{"A", "all", false}, {"B", "all", false}};
  ProgramSpec program;
  program.environment = {{"B", "mine", false}};
  const Words words = environment_from<2>({"A=own", "AB=x"}, job, program);
  EXPECT_EQ(words, (Words{"A=all", "AB=x", "B=mine"}));
}

TEST(Environment, NothingButWhatIsPassedOn) {
  JobSpec job;
  job.inherit = Inherit::none;
  job.environment = {{"B", "", true}, {"MISSING", "", true}};
  EXPECT_EQ(environment_from<2>({"A=1", "B=2"}, job, {}), Words{"B=2"});
}

TEST(Environment, TellsARankItsNumber) {
  Words words = {"OMPI_COMM_WORLD_RANK=99", "PATH=/bin"};
  add_rank_variables({3, 8, 1, "200:5:6", "201:7:6", "202:8:6"}, words);
  EXPECT_STREQ(find_variable(words, "OMPI_COMM_WORLD_RANK"), "3");
  EXPECT_STREQ(find_variable(words, "PMI_SIZE"), "8");
  EXPECT_STREQ(find_variable(words, "HEARTH_APP"), "1");
  EXPECT_STREQ(find_variable(words, "HEARTH_SEGMENT"), "200:5:6");
  EXPECT_STREQ(find_variable(words, "HEARTH_ARENA"), "201:7:6");
  EXPECT_STREQ(find_variable(words, "HEARTH_BOARD"), "202:8:6");
  EXPECT_EQ(find_variable(words, "PMI_FD"), nullptr);
  EXPECT_EQ(std::count_if(words.begin(), words.end(),
                          [](const std::string& word) { return word.starts_with("OMPI_COMM_WORLD_RANK="); }),
            1);
}

TEST(Find, InThePathOrAsItIs) {
  EXPECT_EQ(find_program("sh", "", "/no/where:/bin").path, "/bin/sh");
  EXPECT_EQ(find_program("./x", "", "/bin").path, "./x");
  EXPECT_EQ(find_program("sh", "", "").path.substr(0, 1), "/")
      << "without PATH the usual places are searched";
  EXPECT_EQ(find_program("no-such-program", "", "/bin").exit_code, 127);
}

TEST(Find, ExplainsWhatExecSaid) {
  EXPECT_EQ(explain_failed_start("/no/such", ENOENT).exit_code, 127);
  EXPECT_NE(explain_failed_start("/bin/sh", ENOENT).problem.find("interpreter"), std::string::npos);
  EXPECT_EQ(explain_failed_start("/bin", EACCES).exit_code, 126);
}

}  // namespace
}  // namespace hearth::launch
