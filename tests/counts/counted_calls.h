// The collectives that are counted: algorithm, amount of data, and lower bounds that hold for every
// algorithm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coll/select.h"
#include "counted_ranks.h"

namespace hearth::coll {

struct CountedCall {
  const char* collective;
  const char* algorithm;
  int64_t bytes;  // of the vector, or of one rank's block if each rank has one
};

/// Collectives with short data and with long data. Sums of ints, root 0.
std::span<const CountedCall> short_calls();
std::span<const CountedCall> long_calls();

/// Whether the algorithm can be used with this number of ranks.
bool is_right(const CountedCall& call, int ranks);

struct Counted {
  bool right_data = false;
  std::vector<Counts> by_rank;
  Counts most;  // maximum of each counter over all ranks
  Counts mean;
};
Counted count(const CountedCall& call, CountedRanks& ranks, int times);

/// Lower bounds on the work of the busiest rank, for any algorithm: lines read, bytes reduced, waits. Work
/// that can be divided is divided among all ranks.
Counts bound(const CountedCall& call, int ranks);

}  // namespace hearth::coll
