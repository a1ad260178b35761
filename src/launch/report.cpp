#include "launch/report.h"

namespace hearth::launch {
namespace {

struct Hint {
  int signal;
  const char* text;
};
constexpr Hint kHints[] = {
    {SIGSEGV, "it touched memory that is not its own"},
    {SIGBUS,
     "it touched memory that could not be provided: shared memory or a mapped file that is too small"},
    {SIGABRT, "it gave up by itself: abort() or a failed assertion"},
    {SIGFPE, "a division by zero, or an arithmetic trap"},
    {SIGILL, "an instruction that this processor does not know: was it built for another one?"},
    {SIGSYS, "a system call that a sandbox forbids"},
    {SIGXCPU, "its limit of processor time (ulimit -t)"},
    {SIGXFSZ, "its limit of file size (ulimit -f)"},
    {SIGKILL, "another process killed it, or memory ran out"},
    {SIGPIPE, "it wrote to a pipe without a reader"},
};

}  // namespace

Cause cause_of(const os::ProcessEnd& end, shm::RankPhase phase) {
  if (end.by_signal) return Cause::signal;
  if (end.code != 0) return Cause::exit_code;
  return phase == shm::RankPhase::initialized ? Cause::no_finalize : Cause::none;
}

shm::DeathCause death_cause_of(Cause cause, bool memory_ran_out) {
  switch (cause) {
    case Cause::none:
      break;
    case Cause::signal:
      return memory_ran_out ? shm::DeathCause::out_of_memory : shm::DeathCause::signal;
    case Cause::exit_code:
      return shm::DeathCause::exit_code;
    case Cause::no_finalize:
      return shm::DeathCause::no_finalize;
  }
  return shm::DeathCause::none;
}

int exit_code_of(const os::ProcessEnd& end) {
  if (end.by_signal) return 128 + end.code;
  return end.code == 0 ? 1 : end.code;
}

std::string describe_end(const os::ProcessEnd& end, Cause cause, bool memory_ran_out) {
  switch (cause) {
    case Cause::none:
      return "ended";
    case Cause::no_finalize:
      return "ended with exit code 0 after MPI_Init, but without MPI_Finalize";
    case Cause::exit_code:
      return "ended with exit code " + std::to_string(end.code);
    case Cause::signal:
      break;
  }
  std::string text = "was killed by " + os::signal_name(end.code);
  if (end.code == SIGKILL && memory_ran_out) {
    return text +
           ": memory ran out, and the kernel chose this process (see dmesg; use fewer ranks or less memory)";
  }
  for (const Hint& hint : kHints) {
    if (hint.signal == end.code) return text + ": " + hint.text;
  }
  return text;
}

}  // namespace hearth::launch
