// Jobs on other machines: the command lines of the launchers that can start them.
#include "launch/delegation.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/os_io.h"

namespace hearth::launch {
namespace {

using Words = std::vector<std::string>;

class DelegationTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "hearth-delegation-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const std::string& path : programs_) ::unlink(path.c_str());
    ::rmdir(folder_.c_str());
  }
  void install(const char* name) {
    programs_.push_back(folder_ + "/" + name);
    os::open_to_write(programs_.back().c_str());
    ::chmod(programs_.back().c_str(), 0755);
  }
  static JobSpec job_of(const Words& words) {
    JobSpec job;
    EXPECT_TRUE(parse_command_line(words, job).ok()) << last_failure_text();
    return job;
  }
  // The launcher's command line, separated by blanks; "" with the error in last_failure_text().
  std::string command_for(const char* wish, const Words& words, bool in_allocation = false) {
    delegation_ = {};
    const JobSpec job = job_of(words);
    if (!delegate_job(job, folder_, wish, in_allocation, {"PATH", "HEARTH_WAIT_SPIN"}, delegation_).ok())
      return "";
    std::string text;
    for (const std::string& word : delegation_.command) text += (text.empty() ? "" : " ") + word;
    return text;
  }

  std::string folder_;
  Words programs_;
  Delegation delegation_;
};

TEST_F(DelegationTest, WithoutALauncherItSaysWhatToInstall) {
  EXPECT_EQ(command_for("", {"-H", "a,b", "p"}), "");
  EXPECT_NE(std::string(last_failure_text()).find("install PRRTE, MPICH's Hydra"), std::string::npos);
  EXPECT_NE(std::string(last_failure_text()).find("none of prterun, mpiexec.hydra and srun is installed"),
            std::string::npos);
  install("prterun");
  EXPECT_EQ(command_for("hydra", {"-H", "a,b", "p"}), "");
  EXPECT_NE(std::string(last_failure_text()).find("hydra is not installed"), std::string::npos);
}

TEST_F(DelegationTest, TheFirstThatIsThereUnlessSomethingDecides) {
  install("srun");
  command_for("", {"-H", "a", "p"});
  EXPECT_EQ(delegation_.title, "Slurm");
  install("mpiexec.hydra");
  command_for("", {"-H", "a", "p"});
  EXPECT_EQ(delegation_.title, "Hydra");
  EXPECT_EQ(delegation_.path, folder_ + "/mpiexec.hydra");
  install("prterun");
  command_for("", {"-H", "a", "p"});
  EXPECT_EQ(delegation_.title, "PRRTE");
  command_for("", {"-H", "a", "p"}, true);
  EXPECT_EQ(delegation_.title, "Slurm") << "in an allocation of Slurm's";
  command_for("hydra", {"-H", "a", "p"}, true);
  EXPECT_EQ(delegation_.title, "Hydra");
}

TEST_F(DelegationTest, Prrte) {
  install("prterun");
  EXPECT_EQ(command_for("", {"-H", "a:2,b", "p", "-x"}),
            "prterun --allow-run-as-root --host a:2,b -n 3 -x HEARTH_WAIT_SPIN p -x");
  EXPECT_EQ(
      command_for("", {"-H",        "a,b",    "-ppn", "2",       "--oversubscribe",
                       "--bind-to", "socket", "-l",   "--stdin", "1",
                       "--timeout", "90",     "-x",   "A=1 2",   "-n",
                       "4",         "-wdir",  "/tmp", "p",       ":",
                       "-n",        "1",      "q"}),
      "prterun --allow-run-as-root --host a,b --map-by ppr:2:node:OVERSUBSCRIBE --bind-to package --output "
      "tag --stdin 1 --timeout 90 -n 4 --wdir /tmp -x HEARTH_WAIT_SPIN -x A=1 2 p : -n 1 -x "
      "HEARTH_WAIT_SPIN q");
  EXPECT_TRUE(delegation_.left_out.empty());
  EXPECT_EQ(
      command_for("", {"-H", "a", "--map-by", "l3:PE=2", "--mca", "a", "b c", "-iface", "lo", "p"}),
      "prterun --allow-run-as-root --host a --map-by l3cache:PE=2 --mca a b c -n 1 -x HEARTH_WAIT_SPIN p");
  EXPECT_EQ(delegation_.left_out, (Words{"-iface lo"}));
}

TEST_F(DelegationTest, Hydra) {
  install("mpiexec.hydra");
  EXPECT_EQ(
      command_for("",
                  {"-H", "a:2,b:2", "-ppn",      "2",   "-n",    "4",    "-bind-to", "core:2", "-l", "-genv",
                   "A",  "1",       "-genvlist", "B,C", "-wdir", "/tmp", "-env",     "D",      "2",  "p"}),
      "mpiexec.hydra -hosts a:2,b:2 -ppn 2 -bind-to core:2 -prepend-rank -genv A 1 -genvlist B -genvlist C "
      "-n 4 -wdir /tmp -env D 2 p");
  command_for("",
              {"-H", "a", "--timeout", "1.5", "--stdin", "3", "--report-bindings", "-launcher", "fork", "p"});
  ASSERT_EQ(delegation_.settings.size(), 1u);
  EXPECT_EQ(delegation_.settings[0].name + "=" + delegation_.settings[0].value, "MPIEXEC_TIMEOUT=2");
  EXPECT_EQ(delegation_.left_out, (Words{"--stdin", "--report-bindings"}));
  EXPECT_NE(std::find(delegation_.command.begin(), delegation_.command.end(), "fork"),
            delegation_.command.end());
}

TEST_F(DelegationTest, Slurm) {
  install("srun");
  EXPECT_EQ(command_for("", {"-H", "a:2,b:2", "-ppn", "2", "-bind-to", "core", "-l", "-outfile-pattern",
                             "o.%r", "-genv", "A", "1,2", "-wdir", "/tmp", "p", "q"}),
            "srun --mpi=pmi2 --kill-on-bad-exit=1 --nodelist=a,b --nodes=2 --ntasks=4 --ntasks-per-node=2 "
            "--cpu-bind=cores --label --output=o.%t --input=0 --chdir=/tmp p q");
  ASSERT_EQ(delegation_.settings.size(), 1u);
  EXPECT_EQ(delegation_.settings[0].value, "1,2");
  command_for("", {"-H", "a", "--bind-to", "l3", "--map-by", "core", "p"});
  EXPECT_EQ(delegation_.left_out, (Words{"--bind-to", "--map-by"}));
  EXPECT_EQ(command_for("", {"-H", "a", "p", ":", "q"}), "");
  EXPECT_NE(std::string(last_failure_text()).find("srun starts one"), std::string::npos);
}

}  // namespace
}  // namespace hearth::launch
