// The collectives that are counted: which algorithm, with how much data, what it must come to, and what no
// algorithm can do without.
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
  int64_t bytes;  // of the vector, or of one rank's block where each has one
};

/// Of a few bytes, and of many. Sums of ints, root 0.
std::span<const CountedCall> short_calls();
std::span<const CountedCall> long_calls();

/// Whether the algorithm is right for so many ranks.
bool is_right(const CountedCall& call, int ranks);

struct Counted {
  bool right_data = false;
  std::vector<Counts> by_rank;
  Counts most;  // of any rank, each count by itself
  Counts mean;
};
Counted count(const CountedCall& call, CountedRanks& ranks, int times);

/// What some rank has to do at least, whatever the algorithm: lines that it reads, bytes that it reduces, how
/// often it waits. Where work can be shared by all ranks it is.
Counts bound(const CountedCall& call, int ranks);

}  // namespace hearth::coll
