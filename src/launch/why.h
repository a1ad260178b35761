// Why a job stands still: a pure function from observations (launch/snapshot.h) to text.
//
// A rank waits for all ranks that its operations need, or for any one of them if one operation suffices
// (MPI_Waitany, MPI_ANY_SOURCE). A rank can proceed if it is outside MPI, or if ranks that can proceed can
// satisfy its wait. Ranks that cannot proceed by any order of events are deadlocked: each of their waits
// needs another one of them. Ranks that have ended never proceed; a wait for them is in vain. A rank whose
// program polls may do anything between two samples, so its part in a deadlock is only suspected.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "launch/snapshot.h"

namespace hearth::launch {

enum class Verdict {
  quiet,      // no long wait
  waiting,    // for ranks that can proceed
  suspected,  // a deadlock, if polling ranks do nothing else
  in_vain,    // for ranks that have ended
  deadlock
};

struct Explanation {
  Verdict verdict = Verdict::quiet;
  std::vector<std::string> lines;        // the first one is the verdict; the others begin with two blanks
  std::vector<int> stuck;                // ranks whose waits cannot end; suspected ones included
  std::vector<std::vector<int>> cycles;  // each rank waits for the next, the last for the first
};

/// How long a wait must have lasted to count.
constexpr uint64_t kLastingNs = 500'000'000;

/// An error if mpiexec --why was left out of this build.
Status check_why_is_built();

Explanation explain(const Snapshot& snapshot);
/// "deadlock", "none": for JSON.
const char* verdict_name(Verdict verdict);

}  // namespace hearth::launch
