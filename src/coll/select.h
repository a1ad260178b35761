// Algorithm selection: the first row of algorithms.def that is correct and preferred for the call. All ranks
// must select the same row, so rows depend only on values that are equal on all ranks.
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

/// Inputs of the selection. `hearth bench` fills them in as well (tools/bench_collectives.cpp).
struct Shape {
  int size = 0;       // ranks
  int64_t bytes = 0;  // of the whole vector; of one rank's block if each rank has one
  Count count = 0;    // elements of a reduction
  bool commutative = true;
  bool equal = true;       // all ranks have blocks of equal length
  bool pipeline = false;   // pipeline buffers exist and support these data (coll/pipeline.h)
  bool flat = false;       // the data of each rank fit a flat slot (coll/flat_slots.h)
  bool same_bits = false;  // coll_same_bits: only algorithms that combine ranks from the last to the first
  bool tree = false;       // the data of each rank fit a hierarchical slot (coll/tree_slots.h)
  int machines = 1;        // number of machines, if some ranks share one (coll/levels.h)
  bool in_order = true;    // each machine has consecutive ranks
  bool same_each = true;   // all machines have the same number of ranks
  uint32_t context = UINT32_MAX;  // Comm::context: selects the hints
  int64_t whole_bytes_max = 0;    // for pipeline_whole of an allreduce
};

/// Whether flat slots are better than groups (coll/hierarchy.h). If each rank has a processor, at most
/// flat_ranks_max ranks (coll_flat_ranks_max) read each other's slots; two ranks form no groups. If ranks
/// share processors, the number of times that each rank is scheduled counts, which is one for flat slots.
constexpr bool flat_slots_pay(int ranks, uint64_t flat_ranks_max, bool more_ranks_than_processors) {
  return ranks <= 2 || static_cast<uint64_t>(ranks) <= flat_ranks_max || more_ranks_than_processors;
}

/// Maximum vector length of an allreduce in which every rank reduces the whole vector (coll_whole_bytes_max).
/// A profile's value was measured with a processor per rank, so it is ignored if ranks share processors. The
/// default holds for up to four ranks. More ranks read as many bytes in all, since each reads the vectors of
/// all others: with 8 ranks shares are faster from 2 to 4 KiB on, with 16 from 1 to 2 KiB (16 processors that
/// share a cache, November 2026).
int64_t whole_bytes_max(int ranks, bool more_ranks_than_processors);

/// Maximum length of a process's data in a slot or, if there is one, its overflow buffer. In an allreduce
/// `whole_bytes_max` limits it too, because every rank reduces the whole vector. If each rank has a
/// processor, pipeline buffers are as fast from 2 KiB and faster from 4 KiB. If ranks share processors, slots
/// cost fewer context switches: 8 ranks on two processors reduce 8 KiB in 13 us, and in 26 us through
/// pipeline buffers (development machine, November 2026).
int64_t published_bytes_max(Collective collective, bool has_overflow_buffers, bool more_ranks_than_processors,
                            int64_t whole_bytes_max);

/// Whether a pipeline buffer of this size is enough for a number of ranks: each needs a few cache lines in a
/// stage.
constexpr bool pipeline_suffices(int ranks, uint64_t memory_bytes) {
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

/// The algorithm that was requested for a collective: by HEARTH_COLL_ALGORITHMS, else by the hints of the
/// communicator with that context; nullptr if none was.
const char* wished_algorithm(Collective collective, uint32_t context);
/// Info key of that hint. Its value has the syntax of the parameter.
constexpr const char* kAlgorithmsHint = "hearth_coll_algorithms";
/// Checks such a value, or applies it from now on; MPI_ERR_INFO_VALUE if it is invalid. Called alike on all
/// ranks. An empty value removes the hint.
Status check_wishes(const std::string& text);
Status set_wishes(uint32_t context, const std::string& text);

/// The selected row of a collective's table. Pre: the last row is correct for every shape.
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

/// For error messages and tools.
const char* name_of(Collective collective);

/// The name of the algorithm that select() takes, for tools.
const char* algorithm_for(Collective collective, const Shape& shape);

/// A row of a table, from an entry of algorithms.def.
#define HEARTH_COLL_ROW(name, is_right, is_preferred)                                                        \
  {                                                                                                          \
#name,                                                                                                   \
        []([[maybe_unused]] const Shape& shape) { return is_right; },                                        \
                                                                   []([[maybe_unused]] const Shape&          \
                                                                          shape) { return is_preferred; },   \
                                                                                                        name \
  }

}  // namespace hearth::coll
