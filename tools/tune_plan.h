// The measurements of `hearth tune`, in this order: later rows use the results of earlier ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tune_job.h"

namespace hearth::tools {

/// A protocol, and the settings that force it.
struct Way {
  const char* name;
  std::vector<Setting> settings;
};

/// The threshold between two protocols by length.
struct Division {
  param::Id threshold;
  Way below, above;
  uint64_t from_bytes, to_bytes;  // measured lengths
  bool from_mpi = false;
  bool is_last_below = false;  // the threshold is the longest message of `below`, not the shortest of `above`
  bool quick = false;          // part of the quick run
};

/// A threshold for which several values are compared.
struct Choice {
  param::Id threshold;
  std::vector<uint64_t> values;
  std::vector<uint64_t> lengths;
  std::vector<Setting> settings;  // force the protocol to which it applies
};

const std::vector<Choice>& choices();
const std::vector<Division>& divisions();

/// The limit between two algorithms of an allreduce: the last place of `below`.
struct CollectiveDivision {
  param::Id limit;
  const char* below_name;
  const char* below;  // of src/coll/algorithms.def
  const char* above_name;
  const char* above;
  bool by_ranks;  // places are numbers of ranks, which sum one number each; otherwise lengths
  int processors_min;
  int ranks;                     // of the job, each with its own processor
  std::vector<uint64_t> places;  // to measure; empty if the machine has fewer processors
};
/// For a machine with this number of processors.
std::vector<CollectiveDivision> collective_divisions(int processors);

}  // namespace hearth::tools
