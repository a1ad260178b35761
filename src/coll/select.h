// Which algorithm a collective uses: the first row of algorithms.def that is right for the call and preferred
// for it. All ranks must come to the same answer, so a row looks only at what all ranks know alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/counts.h"
#include "base/status.h"

namespace hearth::coll {

enum class Collective : uint8_t {
  allgather,
  allreduce,
  alltoall,
  barrier,
  bcast,
  gather,
  reduce,
  reduce_scatter,
  scan,
  scatter,
  count_
};

/// What the choice depends on. `hearth bench` fills one in as well (tools/bench_collectives.cpp).
struct Shape {
  int size = 0;       // ranks
  int64_t bytes = 0;  // of the whole vector; of one rank's block where each rank has one
  Count count = 0;    // elements of a reduction
  bool commutative = true;
  bool equal = true;       // all ranks have blocks of one length
  bool chunks = false;     // there is shared memory for data of this kind (coll/chunks.h)
  bool lines = false;      // what each says fits a line of the control area (coll/lines.h)
  bool same_bits = false;  // coll_same_bits: only algorithms that combine ranks from the last to the first
  bool tree = false;       // likewise where they meet in groups (coll/tree_lines.h)
  int machines = 1;        // that the ranks are on, where some of them share one (coll/levels.h)
  bool in_order = true;    // machine after machine, by rank
  bool same_each = true;   // as many ranks on each machine
  uint32_t context = UINT32_MAX;  // Comm::context: whose wishes count
  int64_t whole_bytes_max = 0;    // of the control area, for chunks_whole of an allreduce
};

/// Where each rank has a processor, so many lines are read by each of so many ranks at most
/// (coll_line_ranks_max); with more, groups are better (coll/hierarchy.h), but for two, which are none. Where
/// ranks take turns, what counts is how often each gets a turn: once.
constexpr bool lines_pay(int ranks, uint64_t line_ranks_max, bool more_ranks_than_processors) {
  return ranks <= 2 || static_cast<uint64_t>(ranks) <= line_ranks_max || more_ranks_than_processors;
}

/// Up to which length every rank reduces a whole vector (coll_whole_bytes_max). What a profile says of that
/// was measured with a processor for each rank: otherwise it is left out.
int64_t whole_bytes_max(bool more_ranks_than_processors);

/// The longest that a process says in a slot of its row, or in its wide part where there is one. Of an
/// allreduce every rank reduces that whole. Where each rank has a processor, chunks are as fast from 2 KiB on
/// and faster from 4; where ranks take turns, lines save turns: 8 ranks on two processors reduce 8 KiB in 13
/// us, and in 26 through chunks (development machine, November 2026).
int64_t longest_said(Collective collective, bool has_wide_parts, bool more_ranks_than_processors,
                     int64_t whole_bytes_max);

/// Whether the memory that each rank has for its chunks is enough for so many: a few lines for each in a
/// stage.
constexpr bool chunks_suffice(int ranks, uint64_t memory_bytes) {
  constexpr uint64_t kBytesEach = 8 * 1024;
  return ranks > 1 && memory_bytes >= static_cast<uint64_t>(ranks) * kBytesEach;
}

/// A row of algorithms.def.
template <class Function>
struct Algorithm {
  const char* name;
  bool (*right)(const Shape& shape);
  bool (*preferred)(const Shape& shape);
  Function* run;
};

/// The algorithm that is wished for a collective: by HEARTH_COLL_ALGORITHMS, else by the hints of the
/// communicator with that context; nullptr for none.
const char* wished_algorithm(Collective collective, uint32_t context);
/// The key of that hint in the info of a communicator. Its value is written like the parameter's.
constexpr const char* kAlgorithmsHint = "hearth_coll_algorithms";
/// Checks such a value, or follows it from now on; MPI_ERR_INFO_VALUE. Called alike on all ranks. An empty
/// one ends it.
Status check_wishes(const std::string& text);
Status set_wishes(uint32_t context, const std::string& text);

/// The row of a collective's table that counts for a shape. Pre: the last row is right for every shape.
template <class Row>
const Row& choose(Collective collective, const Row* rows, size_t count, const Shape& shape) {
  if (const char* wished = wished_algorithm(collective, shape.context);
      __builtin_expect(wished != nullptr, 0)) {
    for (size_t i = 0; i < count; ++i) {
      if (std::strcmp(rows[i].name, wished) == 0 && rows[i].right(shape)) return rows[i];
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (rows[i].right(shape) && rows[i].preferred(shape)) return rows[i];
  }
  return rows[count - 1];
}

template <class Function, size_t kRows>
Function* select(Collective collective, const Algorithm<Function> (&table)[kRows], const Shape& shape) {
  return choose(collective, table, kRows, shape).run;
}

/// For messages and tools.
const char* name_of(Collective collective);

/// The name of the algorithm that select() takes, for the tools.
const char* algorithm_for(Collective collective, const Shape& shape);

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
