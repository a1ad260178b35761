// What `hearth tune` measures, in this order: later rows use what earlier ones found.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tune_job.h"

namespace hearth::tools {

/// One way for a message, and the settings that make it take this way.
struct Way {
  const char* name;
  std::vector<Setting> settings;
};

/// A threshold that divides two ways by length.
struct Division {
  param::Id threshold;
  Way below, above;
  uint64_t from_bytes, to_bytes;  // lengths looked at
  bool from_mpi = false;
  bool is_last_below = false;  // the threshold is the longest message of `below`, not the shortest of `above`
  bool quick = false;          // part of the short form
};

/// A threshold of which some values are tried.
struct Choice {
  param::Id threshold;
  std::vector<uint64_t> values;
  std::vector<uint64_t> lengths;
  std::vector<Setting> settings;  // that make messages take the way that it is about
};

const std::vector<Choice>& choices();
const std::vector<Division>& divisions();

/// A limit that divides two algorithms of an allreduce: the last place of `below`.
struct CollectiveDivision {
  param::Id limit;
  const char* below_name;
  const char* below;  // of src/coll/algorithms.def
  const char* above_name;
  const char* above;
  bool by_ranks;  // a place is a number of ranks, which sum one number each; otherwise a length
  int processors_min;
  int ranks;                     // of the job, which have a processor each
  std::vector<uint64_t> places;  // looked at; empty where the machine has fewer processors
};
/// For a machine with so many processors.
std::vector<CollectiveDivision> collective_divisions(int processors);

}  // namespace hearth::tools
