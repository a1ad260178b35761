#include "base/os_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/os_machine.h"

namespace hearth::os {
namespace {

// A program started with its output in a pipe.
struct Started {
  int pid = -1;
  Pipe output;
  Pipe complaints;

  explicit Started(std::vector<std::string> words, SpawnPlan plan = {},
                   std::vector<std::string> environment = {}) {
    EXPECT_TRUE(make_pipe(output) && make_pipe(complaints));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<char*> variables;
    for (std::string& word : environment) variables.push_back(word.data());
    variables.push_back(nullptr);
    plan.program = words[0].c_str();
    plan.arguments = arguments.data();
    plan.environment = variables.data();
    plan.standard_output = output.write_end.number();
    plan.complain = complaints.write_end.number();
    pid = spawn(plan);
    output.write_end.reset();
    complaints.write_end.reset();
  }
  ~Started() {
    signal_group(pid, SIGKILL);
    if (pid > 0) reap(pid);
  }
  std::string text() const {
    std::string result;
    std::array<char, 256> piece;
    for (;;) {
      const intptr_t bytes = read_some(output.read_end.number(), piece.data(), piece.size());
      if (bytes <= 0) return result;
      result.append(piece.data(), static_cast<size_t>(bytes));
    }
  }
  ProcessEnd wait() const {
    ProcessEnd end;
    while (!has_ended(pid, end)) ::usleep(1000);
    return end;
  }
};

TEST(Spawn, RunsAProgramWithItsEnvironmentAndFolder) {
  SpawnPlan plan;
  plan.folder = "/";
  const Started shell({"/bin/sh", "-c", "echo $NAME $0 $PWD", "zero"}, plan, {"NAME=value"});
  EXPECT_EQ(shell.text(), "value zero /\n");
  const ProcessEnd end = shell.wait();
  EXPECT_FALSE(end.by_signal);
  EXPECT_EQ(end.code, 0);
}

TEST(Spawn, LeadsItsOwnGroup) {
  const Started shell({"/bin/sh", "-c", "exec sleep 100"});
  EXPECT_EQ(::getpgid(shell.pid), shell.pid);
  EXPECT_TRUE(signal_group(shell.pid, SIGTERM));
  const ProcessEnd end = shell.wait();
  EXPECT_TRUE(end.by_signal);
  EXPECT_EQ(end.code, SIGTERM);
}

TEST(Spawn, AnnouncesItselfFirst) {
  Pipe announcements;
  ASSERT_TRUE(make_pipe(announcements));
  SpawnPlan plan;
  plan.announce = announcements.write_end.number();
  const Started shell({"/bin/sh", "-c", "exit 3"}, plan);
  EXPECT_EQ(shell.wait().code, 3);
  int32_t pid = 0;
  ASSERT_EQ(read_some(announcements.read_end.number(), &pid, sizeof pid), static_cast<intptr_t>(sizeof pid));
  EXPECT_EQ(pid, shell.pid);
}

TEST(Spawn, SaysWhyItCouldNot) {
  struct Case {
    const char* program;
    const char* folder;
    SpawnStep step;
    int error;
  };
  for (const Case& expected : {Case{"/no/such/program", nullptr, SpawnStep::program, ENOENT},
                               Case{"/bin/sh", "/no/such/folder", SpawnStep::folder, ENOENT},
                               Case{"/", nullptr, SpawnStep::program, EACCES}}) {
    SpawnPlan plan;
    plan.folder = expected.folder;
    plan.tag = 42;
    const Started failed({expected.program}, plan);
    SpawnFailure failure = {};
    ASSERT_EQ(read_some(failed.complaints.read_end.number(), &failure, sizeof failure),
              static_cast<intptr_t>(sizeof failure));
    EXPECT_EQ(failure.tag, 42u);
    EXPECT_EQ(failure.step, expected.step);
    EXPECT_EQ(failure.error, expected.error);
  }
}

TEST(Spawn, BindsToProcessors) {
  const int last = allowed_processors().back();
  SpawnPlan plan;
  plan.processors = {&last, 1};
  const Started sleeper({"/bin/sleep", "100"}, plan);
  char end;
  ASSERT_EQ(read_some(sleeper.complaints.read_end.number(), &end, 1), 0);  // end of file: exec succeeded
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(sleeper.pid, sizeof set, &set), 0);
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(last, &set));
}

TEST(Spawn, KeepsOneDescriptor) {
  Pipe kept;
  Pipe lost;
  ASSERT_TRUE(make_pipe(kept) && make_pipe(lost));
  SpawnPlan plan;
  const int number = kept.write_end.number();
  plan.kept_descriptors = {&number, 1};
  const std::string text = "[ -e /proc/self/fd/" + std::to_string(kept.write_end.number()) +
                           " ] && echo kept; [ -e " + "/proc/self/fd/" +
                           std::to_string(lost.write_end.number()) + " ] || echo lost";
  const Started shell({"/bin/sh", "-c", text}, plan);
  EXPECT_EQ(shell.text(), "kept\nlost\n");
}

TEST(Ends, AreSeenByDescriptorAndKeepTheNumber) {
  const Started shell({"/bin/sh", "-c", "kill -USR1 $$"});
  const Descriptor handle = open_process(shell.pid);
  if (handle.open()) {  // a sandbox may have no pidfds
    Poller poller;
    ASSERT_TRUE(poller.add(handle.number(), 1, true, false));
    EXPECT_EQ(poller.wait(10'000).size(), 1u);
  }
  ProcessEnd end = shell.wait();
  EXPECT_TRUE(end.by_signal);
  EXPECT_EQ(end.code, SIGUSR1);
  EXPECT_TRUE(has_ended(shell.pid, end)) << "looking must not reap";
  EXPECT_TRUE(signal_group(shell.pid, SIGTERM)) << "the group's number is kept by the zombie";
}

TEST(Ends, ARunningProcessHasNotEnded) {
  const Started sleeper({"/bin/sleep", "100"});
  ProcessEnd end;
  EXPECT_FALSE(has_ended(sleeper.pid, end));
}

TEST(Detached, HoldsNothingAndHasItsOwnName) {
  Pipe link;
  Pipe report;
  ASSERT_TRUE(make_pipe(link) && make_pipe(report));
  std::string name = "some-long-program-name";
  std::string secret = "argument";
  std::array<char*, 3> arguments = {name.data(), secret.data(), nullptr};
  const int pid = fork_process();
  if (pid == 0) {
    become_detached(report.write_end.number(), "renamed", arguments.data());
    const bool good = ::fcntl(0, F_GETFD) < 0 && ::fcntl(link.read_end.number(), F_GETFD) < 0 &&
                      ::getsid(0) == ::getpid() && std::string(arguments[0]) == "renamed" &&
                      arguments[1][0] == '\0';
    write_some(report.write_end.number(), good ? "y" : "n", 1);
    end_process(0);
  }
  report.write_end.reset();
  char answer = '-';
  read_some(report.read_end.number(), &answer, 1);
  EXPECT_EQ(answer, 'y');
  reap(pid);
}

TEST(Signals, HaveNames) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(63), "signal 63");
}

// In a child process, because the signal settings of a process cannot be undone.
TEST(SignalInbox, TurnsSignalsIntoSomethingToRead) {
  const int pid = fork_process();
  if (pid == 0) {
    constexpr int kWanted[] = {SIGUSR1, SIGTERM};
    SignalInbox inbox(kWanted);
    if (inbox.next() != 0) end_process(1);
    ::kill(::getpid(), SIGTERM);
    if (inbox.next() != SIGTERM || inbox.next() != 0) end_process(2);
    // A child does not inherit the blocked signals.
    const Started shell({"/bin/sh", "-c", "kill -TERM $$; echo deaf"});
    if (!shell.wait().by_signal) end_process(3);
    end_process(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(DieOfSignal, EndsAsIfNeverHandled) {
  const int pid = fork_process();
  if (pid == 0) {
    constexpr int kWanted[] = {SIGPIPE};
    const SignalInbox inbox(kWanted);
    die_of_signal(SIGPIPE);
    end_process(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGPIPE);
}

}  // namespace
}  // namespace hearth::os
