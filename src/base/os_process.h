// Processes, signals and waiting for the end of processes. Used by the launcher and the tools, and by the
// library when it starts; not on the data path.
//
// A started process stays a zombie until reap(). Until then the system does not reuse its PID, nor the id of
// the process group that it leads, so a signal to either reaches no other process.
#pragma once

#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"

namespace hearth::os {

int process_id();
/// Fails if a sandbox refuses getpid.
Status check_process_id();
/// The name of this process's program, without its folder.
std::string program_name();

/// Fills up to 256 bytes with cryptographic random numbers; false with errno if the system refuses.
bool fill_with_chance(void* to, size_t bytes);

/// Arguments of spawn(); everything they refer to must live until it returns.
struct SpawnPlan {
  const char* program = nullptr;  // a path; no search
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* folder = nullptr;  // working folder; null: the parent's
  int standard_input = 0;
  int standard_output = 1;
  int standard_error = 2;
  std::span<const int> kept_descriptors;  // stay open under the same numbers, although close-on-exec
  std::span<const int> processors;        // affinity mask; empty: the parent's
  bool processors_asked_for = true;       // false: continue without the mask if the system refuses it
  int announce = -1;                      // pipe to which the process first writes its PID
  int complain = -1;                      // close-on-exec pipe to which it writes a SpawnFailure on failure
  uint32_t tag = 0;
};
enum class SpawnStep : uint32_t { affinity, folder, descriptors, program };
struct SpawnFailure {
  uint32_t tag;
  SpawnStep step;
  int32_t error;  // errno
};
/// Starts a program as the leader of a new process group. It gets SIGKILL when this process ends, and the
/// signal settings and limits with which this process was started. Returns its PID, or -1 with errno.
int spawn(const SpawnPlan& plan);

/// Starts a program for a library, in a process whose threads and handlers are not known: with the null
/// device as standard input, this process's output and working folder, a process group of its own, one more
/// descriptor under the same number, and the default signal mask. No functions of watch_forks() run. Returns
/// the PID, or -1 with errno.
int start_helper(const char* path, char* const* arguments, char* const* environment, int kept_descriptor);
/// Reaps a child if it has ended; true if it is gone.
bool try_reap(int pid);
/// The environment of this process.
char** own_environment();

/// Registers functions to run around every fork of this process, in the forking thread: before it, and before
/// it returns in the parent and in the child. False if memory is exhausted. They do not run around vfork and
/// posix_spawn, whose child shares all memory until it executes a program.
bool watch_forks(void (*before)(), void (*in_parent)(), void (*in_child)());
/// Executes another program in this process, with all descriptors that are not close-on-exec; returns, with
/// errno, only on failure.
void become_program(const char* path, char* const* arguments, char* const* environment);

/// Forks this process: returns the child's PID, 0 in the child, -1 with errno.
int fork_process();
/// Registers a function to be called with the exit code when this process, or a forked copy of it, ends by
/// exit() or by returning from main().
void at_exit(void (*function)(int code));
/// Ends this process at once, without exit handlers.
[[noreturn]] void end_process(int code);
/// Detaches this process from its parent: a new session, the root folder, all descriptors but one closed, all
/// signals but SIGKILL blocked, and a name of its own.
void become_detached(int kept_descriptor, const char* name, char** arguments);

/// Starts a program that outlives this process: in a new session, in the root folder, with null devices as
/// descriptors 0 to 2 and no others open, and with the signal settings with which this process was started.
/// False with errno if it cannot fork.
bool start_detached(const char* path, char* const* arguments, char* const* environment);
/// Gives this thread, and the processes that it starts from now on, the lowest priority.
void lower_priority();

/// How a process ended.
struct ProcessEnd {
  bool by_signal = false;
  int code = 0;  // exit code or signal
};
/// Whether the child has ended, and how. It stays a zombie.
bool has_ended(int pid, ProcessEnd& end);
/// Waits for the end of a child and reaps it.
void reap(int pid);
/// A descriptor that becomes readable when the process ends; not open if the system refuses.
Descriptor open_process(int pid);
/// Whether all threads of the process behind such a descriptor have ended.
bool is_gone(const Descriptor& process);
/// Identifies the PID namespace of this process; 0 if unknown. Compare with same_numbering().
uint64_t process_numbering();
/// Whether PIDs have the same meaning in two processes with these process_numbering(). Unknown counts as
/// different.
constexpr bool same_numbering(uint64_t a, uint64_t b) {
  return a != 0 && a == b;
}

/// False with errno if the signal reached no process.
bool signal_process(int pid, int signal);
bool signal_group(int group_leader, int signal);
/// Ignores a signal from now on, unless the program has set a handler.
void ignore_unless_handled(int signal);
/// Ends this process by the signal's default action.
void die_of_signal(int signal);
/// "SIGSEGV"; "signal 77" for a signal without a name.
std::string signal_name(int signal);

/// Delivers signals through a descriptor. From its construction on, these signals no longer interrupt this
/// process, and SIGPIPE and SIGXFSZ are ignored; processes started by spawn() get the previous settings. One
/// per process.
class SignalInbox {
 public:
  explicit SignalInbox(std::span<const int> signals);
  int descriptor() const { return descriptor_.number(); }
  /// The next pending signal, or 0.
  int next();

 private:
  Descriptor descriptor_;
};
/// Stops this process until SIGCONT, as the terminal's stop key does.
void stop_self();

}  // namespace hearth::os
