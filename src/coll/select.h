// Which algorithm a collective uses: the first row of algorithms.def that is right for the call and preferred
// for it. All ranks must come to the same answer, so a row looks only at what all ranks know alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/counts.h"

namespace hearth::coll {

enum class Collective : uint8_t {
  allgather,
  allreduce,
  alltoall,
  bcast,
  gather,
  reduce,
  reduce_scatter,
  scatter,
  count_
};

/// What the choice depends on.
struct Shape {
  int size = 0;       // ranks
  int64_t bytes = 0;  // of the whole vector; of one rank's block where each rank has one
  Count count = 0;    // elements of a reduction
  bool commutative = true;
};

/// A row of algorithms.def.
template <class Function>
struct Algorithm {
  const char* name;
  bool (*right)(const Shape& shape);
  bool (*preferred)(const Shape& shape);
  Function* run;
};

/// The algorithm that HEARTH_COLL_ALGORITHMS names for a collective, or nullptr.
const char* wished_algorithm(Collective collective);

/// Pre: the last row of the table is right for every shape.
template <class Function, size_t kRows>
Function* select(Collective collective, const Algorithm<Function> (&table)[kRows], const Shape& shape) {
  if (const char* wished = wished_algorithm(collective); __builtin_expect(wished != nullptr, 0)) {
    for (const auto& row : table) {
      if (std::strcmp(row.name, wished) == 0 && row.right(shape)) return row.run;
    }
  }
  for (const auto& row : table) {
    if (row.right(shape) && row.preferred(shape)) return row.run;
  }
  return table[kRows - 1].run;
}

/// One row, from what algorithms.def says about it.
#define HEARTH_COLL_ROW(name, is_right, is_preferred)                                                        \
  {                                                                                                          \
#name,                                                                                                   \
        []([[maybe_unused]] const Shape& shape) { return is_right; },                                        \
                                                                   []([[maybe_unused]] const Shape&          \
                                                                          shape) { return is_preferred; },   \
                                                                                                        name \
  }

}  // namespace hearth::coll
