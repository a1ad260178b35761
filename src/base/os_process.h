// Processes, signals and waiting for their end. Used by the launcher and the tools, and by the library when
// it starts; nothing here is on the data path.
//
// A process that was started stays a zombie until reap(): so long its number, and the number of the process
// group it leads, cannot be given to anybody else, and a signal sent there reaches no stranger.
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
/// Fails where a sandbox refuses getpid.
Status check_process_id();
/// The name of the program that this process runs, without its folder.
std::string program_name();

/// Fills up to 256 bytes with what nobody can guess; false with errno where the system refuses.
bool fill_with_chance(void* to, size_t bytes);

/// What a started process is told and given. The strings and numbers must live until spawn() returns.
struct SpawnPlan {
  const char* program = nullptr;  // a path; no search
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* folder = nullptr;  // working folder; null: that of the parent
  int standard_input = 0;
  int standard_output = 1;
  int standard_error = 2;
  std::span<const int> kept_descriptors;  // open in the program under the same numbers, though close-on-exec
  std::span<const int> processors;        // affinity mask; empty: that of the parent
  bool processors_asked_for = true;       // false: where the system refuses masks it goes without
  int announce = -1;  // pipe into which the process writes its number, before anything else
  int complain = -1;  // close-on-exec pipe into which it writes a SpawnFailure if it must
  uint32_t tag = 0;
};
enum class SpawnStep : uint32_t { affinity, folder, descriptors, program };
struct SpawnFailure {
  uint32_t tag;
  SpawnStep step;
  int32_t error;  // errno
};
/// Starts a program in a new process group that it leads; it gets SIGKILL when this process ends, and the
/// signal settings and limits that this process was given. Its number, or -1 with errno.
int spawn(const SpawnPlan& plan);

/// Calls these around every fork of this process from now on: in the thread that forks, before it, then in
/// the parent and in the child before fork returns there. False when there is no memory for that. Not called
/// around vfork and posix_spawn, whose child shares all memory until it executes a program.
bool watch_forks(void (*before)(), void (*in_parent)(), void (*in_child)());
/// Becomes another program, with everything that is open and not close-on-exec; returns, with errno, only
/// when that fails.
void become_program(const char* path, char* const* arguments, char* const* environment);

/// A copy of this process: its number, 0 in the copy, -1 with errno.
int fork_process();
/// Has a function called with the exit code when this process ends by exit() or by returning from main(); in
/// copies of this process too.
void at_exit(void (*function)(int code));
/// Ends this process at once, without running what is registered for its exit.
[[noreturn]] void end_process(int code);
/// Cuts the process loose from whoever started it: a session of its own, the top folder, no descriptors but
/// one, no signal but SIGKILL reaches it, and another name than its parent's.
void become_detached(int kept_descriptor, const char* name, char** arguments);

/// Starts a program that outlives this process: in a session of its own, in the top folder, with null devices
/// for input and output and nothing else open, and with the signal settings that this process was given.
/// False with errno when there is no further process.
bool start_detached(const char* path, char* const* arguments, char* const* environment);
/// Others go first before this thread from now on, also before what it starts.
void lower_priority();

/// How a process ended.
struct ProcessEnd {
  bool by_signal = false;
  int code = 0;  // exit code or signal
};
/// Whether the child has ended, and how. It stays a zombie.
bool has_ended(int pid, ProcessEnd& end);
/// Waits for the end of a child and forgets it.
void reap(int pid);
/// A descriptor that becomes readable when the process ends; not open where the system refuses.
Descriptor open_process(int pid);
/// Whether no thread of the process of such a descriptor runs any more.
bool is_gone(const Descriptor& process);
/// Identifies the PID namespace of this process; 0 where the system does not tell. Equal only where both are
/// known to be the same: see same_numbering().
uint64_t process_numbering();
/// Whether PIDs of two processes with these process_numbering() mean the same. Unknown counts as different.
constexpr bool same_numbering(uint64_t a, uint64_t b) {
  return a != 0 && a == b;
}

/// False with errno when nobody was reached.
bool signal_process(int pid, int signal);
bool signal_group(int group_leader, int signal);
/// Where nobody has said what it does, it does nothing from here on.
void ignore_unless_handled(int signal);
/// Ends this process by the signal's default action, as if it had never been handled.
void die_of_signal(int signal);
/// "SIGSEGV"; "signal 77" for one without a name.
std::string signal_name(int signal);

/// Turns signals into something to read. From its construction on these signals no longer interrupt this
/// process, and SIGPIPE and SIGXFSZ are ignored; processes that spawn() starts get the settings from before.
/// One per process.
class SignalInbox {
 public:
  explicit SignalInbox(std::span<const int> signals);
  int descriptor() const { return descriptor_.number(); }
  /// The next signal that has come, or 0.
  int next();

 private:
  Descriptor descriptor_;
};
/// Stops this process until SIGCONT, as the terminal's stop key would.
void stop_self();

}  // namespace hearth::os
