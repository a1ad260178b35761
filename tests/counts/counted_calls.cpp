#include "counted_calls.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "coll/coll.h"
#include "coll/hierarchy.h"
#include "datatype/predefined.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

constexpr int64_t kShort = 8;
constexpr int64_t kBlock = 1024;
constexpr int64_t kVector = 64 * 1024;

constexpr CountedCall kShortCalls[] = {
    {"barrier", "flat", 0},
    {"barrier", "tree", 0},
    {"barrier", "dissemination", 0},
    {"bcast", "flat", kShort},
    {"bcast", "tree", kShort},
    {"bcast", "binomial", kShort},
    {"reduce", "flat", kShort},
    {"reduce", "tree", kShort},
    {"reduce", "binomial", kShort},
    {"allreduce", "flat", kShort},
    {"allreduce", "tree", kShort},
    {"allreduce", "recursive_doubling", kShort},
    {"allgather", "flat", kShort},
    {"allgather", "tree", kShort},
    {"allgather", "bruck", kShort},
    {"alltoall", "flat", kShort},
    {"alltoall", "bruck", kShort},
    {"gather", "flat", kShort},
    {"gather", "binomial", kShort},
    {"scatter", "flat", kShort},
    {"scatter", "binomial", kShort},
    {"reduce_scatter", "flat", kShort},
    {"reduce_scatter", "in_order", kShort},
    {"scan", "flat", kShort},
    {"scan", "doubling", kShort},
};

constexpr CountedCall kLongCalls[] = {
    {"bcast", "pipeline", kVector},
    {"bcast", "binomial", kVector},
    {"bcast", "chain", kVector},
    {"reduce", "pipeline", kVector},
    {"reduce", "ring_gather", kVector},
    {"reduce", "binomial", kVector},
    {"allreduce", "pipeline_whole", kVector},
    {"allreduce", "pipeline_shares", kVector},
    {"allreduce", "ring", kVector},
    {"allreduce", "recursive_doubling", kVector},
    {"allreduce", "reduce_bcast", kVector},
    {"allgather", "pipeline", kBlock},
    {"allgather", "bruck", kBlock},
    {"allgather", "ring", kBlock},
    {"alltoall", "pipeline", kBlock},
    {"alltoall", "bruck", kBlock},
    {"alltoall", "pairwise", kBlock},
    {"gather", "pipeline", kBlock},
    {"gather", "binomial", kBlock},
    {"gather", "linear", kBlock},
    {"scatter", "pipeline", kBlock},
    {"scatter", "binomial", kBlock},
    {"scatter", "linear", kBlock},
    {"reduce_scatter", "pipeline", kBlock},
    {"reduce_scatter", "pairwise", kBlock},
    {"reduce_scatter", "in_order", kBlock},
    {"scan", "pipeline_whole", kVector},
    {"scan", "pipeline_chain", kVector},
    {"scan", "doubling", kVector},
};

bool is(const CountedCall& call, const char* collective) {
  return std::strcmp(call.collective, collective) == 0;
}

/// Whether a rank publishes a block for each rank; whether its buffers have a block for each rank.
bool says_blocks(const CountedCall& call) {
  return is(call, "alltoall") || is(call, "scatter") || is(call, "reduce_scatter");
}
bool has_blocks(const CountedCall& call) {
  return says_blocks(call) || is(call, "allgather") || is(call, "gather");
}

/// Element `index` of a rank's input.
int value(int rank, int64_t index) {
  return rank * 1000 + static_cast<int>(index);
}
int sum(int ranks, int64_t index) {
  return ranks * (ranks - 1) / 2 * 1000 + ranks * static_cast<int>(index);
}

struct Buffers {
  std::vector<int> in;
  std::vector<int> out;
};

Status build(const CountedCall& call, Schedule& schedule, int rank, Buffers& buffers, objects::Op& op) {
  datatype::Type& type =
      *datatype::predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(MPI_INT)));
  const Count count = call.bytes / type.size;
  int* in = buffers.in.data();
  int* out = buffers.out.data();
  if (is(call, "barrier")) return barrier(schedule);
  if (is(call, "bcast")) return bcast(schedule, rank == 0 ? in : out, count, type, 0);
  if (is(call, "reduce")) return reduce(schedule, in, out, count, type, op, 0);
  if (is(call, "allreduce")) return allreduce(schedule, in, out, count, type, op);
  if (is(call, "allgather")) return allgather(schedule, in, count, type, out, count, type);
  if (is(call, "alltoall")) return alltoall(schedule, in, count, type, out, count, type);
  if (is(call, "gather")) return gather(schedule, in, count, type, out, count, type, 0);
  if (is(call, "scatter")) return scatter(schedule, in, count, type, out, count, type, 0);
  if (is(call, "reduce_scatter")) return reduce_scatter_block(schedule, in, out, count, type, op);
  return scan(schedule, in, out, count, type, op);
}

/// Element `index` of block `block` of the result; -1: nothing is written there.
int expected(const CountedCall& call, int ranks, int rank, int block, int64_t index) {
  const int64_t each = call.bytes / static_cast<int64_t>(sizeof(int));
  if (is(call, "bcast")) return rank == 0 ? -1 : value(0, index);
  if (is(call, "reduce")) return rank == 0 ? sum(ranks, index) : -1;
  if (is(call, "allreduce")) return sum(ranks, index);
  if (is(call, "allgather")) return value(block, index);
  if (is(call, "alltoall")) return value(block, rank * each + index);
  if (is(call, "gather")) return rank == 0 ? value(block, index) : -1;
  if (is(call, "scatter")) return block == 0 ? value(0, rank * each + index) : -1;
  if (is(call, "reduce_scatter")) return block == 0 ? sum(ranks, rank * each + index) : -1;
  return sum(rank + 1, index);
}

int64_t lines(int64_t bytes) {
  return (bytes + 63) / 64;
}

}  // namespace

std::span<const CountedCall> short_calls() {
  return kShortCalls;
}
std::span<const CountedCall> long_calls() {
  return kLongCalls;
}

bool is_right(const CountedCall& call, int ranks) {
  const std::string algorithm = call.algorithm;
  if (algorithm == "flat") {
    return call.bytes * (says_blocks(call) ? ranks : 1) <= shm::kOverflowPayloadBytes;
  }
  if (algorithm == "tree") {
    const int said_for = is(call, "allgather") ? Hierarchy::group_ranks_max(ranks) : 1;
    return ranks > 2 && call.bytes * said_for <= shm::kSlotPayloadBytes;
  }
  if (algorithm.starts_with("pipeline")) {
    return pipeline_suffices(ranks, shm::SegmentPlan::for_ranks(static_cast<uint32_t>(ranks)).pipeline_bytes);
  }
  return true;
}

Counted count(const CountedCall& call, CountedRanks& ranks, int times) {
  const int size = ranks.size();
  const int64_t each = call.bytes / static_cast<int64_t>(sizeof(int));
  const int blocks = has_blocks(call) ? size : 1;
  const auto elements = static_cast<size_t>(each * blocks);
  std::vector<Buffers> buffers(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    Buffers& own = buffers[static_cast<size_t>(rank)];
    own.in.resize(elements);
    own.out.assign(elements, -1);
    for (size_t i = 0; i < elements; ++i) own.in[i] = value(rank, static_cast<int64_t>(i));
  }
  objects::Op op;
  op.kind = objects::OpKind::sum;
  Counted counted;
  ranks.wish(std::string(call.collective) + "=" + call.algorithm);
  const auto steps = [&](Schedule& schedule, int rank) {
    return build(call, schedule, rank, buffers[static_cast<size_t>(rank)], op);
  };
  counted.right_data = ranks.run(steps, times, counted.by_rank);
  for (const Counts& counts : counted.by_rank) {
    counted.most.raise_to(counts);
    counted.mean += counts;
  }
  counted.mean /= size;
  for (int rank = 0; rank < size; ++rank) {
    const Buffers& own = buffers[static_cast<size_t>(rank)];
    for (size_t i = 0; i < elements; ++i) {
      const auto index = static_cast<int64_t>(i);
      const int right = expected(call, size, rank, static_cast<int>(index / each), index % each);
      counted.right_data &= own.out[i] == right;
    }
  }
  return counted;
}

Counts bound(const CountedCall& call, int ranks) {
  const int64_t others = ranks - 1;
  const auto shared = [&](int64_t bytes) { return (bytes * others + ranks - 1) / ranks; };
  int64_t read = 0;
  int64_t reduced = 0;
  if (is(call, "barrier")) {
    read = 1;
  } else if (is(call, "bcast") || is(call, "scatter")) {
    read = lines(call.bytes);
  } else if (is(call, "reduce")) {
    // All operands but one are read by another rank.
    read = lines(shared(call.bytes));
    reduced = shared(call.bytes);
  } else if (is(call, "allreduce")) {
    // The same, and all ranks but one read the result.
    read = lines(2 * shared(call.bytes));
    reduced = shared(call.bytes);
  } else if (is(call, "allgather") || is(call, "alltoall") || is(call, "gather")) {
    read = lines(others * call.bytes);
  } else if (is(call, "reduce_scatter")) {
    read = lines(others * call.bytes);
    reduced = others * call.bytes;
  } else {
    read = lines(call.bytes);
    reduced = call.bytes;
  }
  Counts least;
  least.lines_read = static_cast<double>(read);
  least.reduced = static_cast<double>(reduced);
  least.waits = 1;
  least.chain = 1;
  return least;
}

}  // namespace hearth::coll
