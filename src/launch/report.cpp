#include "launch/report.h"

#include <cstdio>

#include "base/atomic.h"
#include "base/contexts.h"
#include "mpi.h"

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
    {SIGKILL, "somebody ended it from outside, or memory ran out"},
    {SIGPIPE, "it wrote to a pipe that nobody reads"},
};

const char* wait_words(shm::WaitKind kind) {
  switch (kind) {
    case shm::WaitKind::none:
      return "";
    case shm::WaitKind::send:
      return "waits in a send to";
    case shm::WaitKind::receive:
      return "waits in a receive from";
    case shm::WaitKind::request:
      return "waits for a request with";
    case shm::WaitKind::probe:
      return "waits in a probe for a message from";
    case shm::WaitKind::finalize:
      return "waits in MPI_Finalize for";
  }
  return "waits for";
}

std::string rank_words(int32_t peer) {
  if (peer == MPI_ANY_SOURCE) return "any rank";
  if (peer < 0) return "other ranks";
  return "rank " + std::to_string(peer);
}

}  // namespace

Cause cause_of(const os::ProcessEnd& end, shm::RankPhase phase) {
  if (end.by_signal) return Cause::signal;
  if (end.code != 0) return Cause::exit_code;
  return phase == shm::RankPhase::initialized ? Cause::no_finalize : Cause::none;
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

std::string describe_state(const shm::RankBlock& block, uint64_t now_ns) {
  switch (static_cast<shm::RankPhase>(atomic::load_relaxed(block.phase))) {
    case shm::RankPhase::outside:
      return "has not called MPI_Init";
    case shm::RankPhase::finalized:
      return "has called MPI_Finalize and not ended yet";
    case shm::RankPhase::initialized:
      break;
  }
  const shm::StatusLine& status = block.status;
  const auto kind = static_cast<shm::WaitKind>(atomic::load_relaxed(status.kind));
  if (kind == shm::WaitKind::none) return "computes, or has waited for a moment only";
  std::string text;
  const bool collective = is_collective(status.context);
  if (kind == shm::WaitKind::finalize) {
    text = "waits in MPI_Finalize for the other ranks";
  } else if (collective) {
    text = "waits in a collective operation for " + rank_words(status.peer);
  } else {
    text = std::string(wait_words(kind)) + " " + rank_words(status.peer);
    text += status.tag == MPI_ANY_TAG ? ", any tag" : ", tag " + std::to_string(status.tag);
    if (kind == shm::WaitKind::send) text += ", " + std::to_string(status.bytes) + " bytes";
  }
  if (now_ns > status.since_ns) {
    char since[32];
    std::snprintf(since, sizeof since, ", for %.1f s", static_cast<double>(now_ns - status.since_ns) / 1e9);
    text += since;
  }
  return text;
}

}  // namespace hearth::launch
