// The algorithm of a collective on MPI_COMM_WORLD of a job, by the table that the library itself uses: for
// `hearth bench --collective` and `hearth info --explain`. Assumes contiguous data and sums of doubles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/select.h"

namespace hearth::tools {

/// `bytes`: of one rank's block if ranks have blocks, else of the vector. `machines`: number of machines,
/// with equally many consecutive ranks each.
std::string algorithm_of(coll::Collective collective, int ranks, int64_t bytes, int machines = 1);

/// The algorithm of a collective from this length on, and the reason.
struct CollectiveChoice {
  const char* collective;
  int64_t from_bytes;
  std::string algorithm;
  std::string why;
};
/// For all collectives, by increasing length. A barrier has one length, 0.
std::vector<CollectiveChoice> collective_choices(int ranks);

}  // namespace hearth::tools
