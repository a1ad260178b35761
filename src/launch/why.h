// Why a job stands still: a pure function from what is seen (launch/snapshot.h) to sentences.
//
// A rank waits for other ranks: for all whom its operations need, or for one of them where one operation
// suffices (MPI_Waitany, MPI_ANY_SOURCE). A rank can act when it is outside of MPI, or when what it waits for
// can come from ranks that can act. What cannot act by any order of events is a deadlock: every wait in it
// needs another one in it. Ranks that have ended never act; who waits for them waits in vain. A rank whose
// program polls may do anything between two looks, so that its part in a deadlock is only suspected.
#pragma once

#include <string>
#include <vector>

#include "launch/snapshot.h"

namespace hearth::launch {

enum class Verdict {
  quiet,      // nobody waits for long
  waiting,    // for ranks that can act
  suspected,  // a deadlock, if ranks that poll do nothing else
  in_vain,    // for ranks that have ended
  deadlock
};

struct Explanation {
  Verdict verdict = Verdict::quiet;
  std::vector<std::string> lines;        // the first one is the verdict; others begin with two blanks
  std::vector<int> stuck;                // ranks whose waits cannot end, or not if the suspicion is right
  std::vector<std::vector<int>> cycles;  // each rank waits for the next, the last for the first
};

/// How long a wait must have lasted to count.
constexpr uint64_t kLastingNs = 500'000'000;

Explanation explain(const Snapshot& snapshot);
/// "deadlock", "none": for JSON.
const char* verdict_name(Verdict verdict);

}  // namespace hearth::launch
