// Which algorithm a collective takes on MPI_COMM_WORLD of a job, by the table that the library itself decides
// by: for `hearth bench --collective` and `hearth info --explain`. Data of one run of bytes, sums of doubles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/select.h"

namespace hearth::tools {

/// `bytes`: of one rank's block where each has one, else of the vector.
/// `machines`: that the ranks are on, as many on each, one after the other.
std::string algorithm_of(coll::Collective collective, int ranks, int64_t bytes, int machines = 1);

/// A collective from these many bytes on, and why.
struct CollectiveChoice {
  const char* collective;
  int64_t from_bytes;
  std::string algorithm;
  std::string why;
};
/// Of all collectives, in the order of lengths. A barrier has one length, 0.
std::vector<CollectiveChoice> collective_choices(int ranks);

}  // namespace hearth::tools
