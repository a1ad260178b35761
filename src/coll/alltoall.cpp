#include <algorithm>

#include "coll/blocks.h"
#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/inter.h"
#include "coll/levels.h"
#include "coll/pipeline.h"
#include "coll/select.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

using AlltoallFunction = Status(Schedule& schedule, const RankBlocks& out, const RankBlocks& in);

/// In place, the outgoing blocks are the incoming ones.
Status flat(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  const void* send = out.place(0) == in.place(0) ? MPI_IN_PLACE : out.place(0);
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    slots.alltoall(send, out.count(0), out.type(0), in.place(0), in.count(0), in.type(0));
    return Status();
  });
}

/// Likewise.
Status pipeline(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  return move_through_pipeline(schedule, [&](PipelineMoves& moves) {
    moves.alltoall(schedule, out, in);
    return Status();
  });
}

Status unequal_blocks(int64_t sent_bytes, int64_t received_bytes) {
  return fail(MPI_ERR_TRUNCATE, "each rank is sent %lld bytes, but %lld are received from each",
              static_cast<long long>(sent_bytes), static_cast<long long>(received_bytes));
}

/// The data that `machines` moves. The row of a rank has a block for each rank, in machine order. A leader
/// has the rows of its machine.
class MachineRows {
 public:
  MachineRows(const Levels& levels, int64_t block_bytes)
      : where_(levels.machines()), here_(levels.size()), block_bytes_(block_bytes) {}

  int64_t row_bytes() const { return static_cast<int64_t>(where_.ranks.size()) * block_bytes_; }
  int64_t bytes() const { return here_ * row_bytes(); }

  /// Among the leaders: sends to each machine its blocks of all rows, and replaces the rows by the received
  /// blocks.
  Status exchange(Schedule& schedule, std::byte* rows) const {
    const int machines = where_.count();
    std::byte* memory;
    std::byte* leaving;
    std::byte* coming;
    HEARTH_TRY(schedule.scratch(2 * machines * static_cast<int64_t>(sizeof(Count)), memory));
    HEARTH_TRY(schedule.scratch(bytes(), leaving));
    HEARTH_TRY(schedule.scratch(bytes(), coming));
    auto* counts = reinterpret_cast<Count*>(memory);
    Count* begins = counts + machines;
    for (int machine = 0; machine < machines; ++machine) {
      const int64_t begin = where_.begin(machine) * block_bytes_;
      const int64_t bytes = where_.size(machine) * block_bytes_;
      counts[machine] = here_ * bytes;
      begins[machine] = here_ * begin;
      for (int from = 0; from < here_; ++from) {
        schedule.copy_bytes(rows + from * row_bytes() + begin, leaving + begins[machine] + from * bytes,
                            bytes);
      }
    }
    Type& byte = byte_type();
    HEARTH_TRY(alltoallv(schedule, leaving, CountArray(counts), CountArray(begins), byte, coming,
                         CountArray(counts), CountArray(begins), byte));
    schedule.next_round();
    // From each rank, a run of blocks for the ranks of this machine has been received.
    for (int at = 0; at < static_cast<int>(where_.ranks.size()); ++at) {
      for (int to = 0; to < here_; ++to) {
        schedule.copy_bytes(coming + (at * here_ + to) * block_bytes_,
                            rows + to * row_bytes() + at * block_bytes_, block_bytes_);
      }
    }
    return {};
  }

 private:
  const objects::Machines& where_;
  const int64_t here_;
  const int64_t block_bytes_;
};

// For short blocks: gather the rows of each machine on its leader, exchange one message per pair of machines,
// scatter rows of the received blocks.
Status machines(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  const int64_t block_bytes = out.bytes(0);
  if (block_bytes != in.bytes(0)) return unequal_blocks(block_bytes, in.bytes(0));
  Levels levels(schedule);
  const MachineRows moved(levels, block_bytes);
  const int64_t row_bytes = moved.row_bytes();
  std::byte* row;
  HEARTH_TRY(schedule.scratch(row_bytes, row));
  std::byte* rows = row;
  if (levels.leads()) HEARTH_TRY(schedule.scratch(moved.bytes(), rows));
  const auto rank_at = [&](int at) { return levels.machines().ranks[static_cast<size_t>(at)]; };
  for (int at = 0; at < schedule.size(); ++at) {
    const int to = rank_at(at);
    schedule.pack(out.place(to), out.count(to), out.type(to), row + at * block_bytes);
  }
  Type& byte = byte_type();
  HEARTH_TRY(levels.on_machine_of_any_size(
      [&] { return gather(schedule, row, row_bytes, byte, rows, row_bytes, byte, levels.leader()); }));
  HEARTH_TRY(levels.among_leaders([&] { return moved.exchange(schedule, rows); }));
  HEARTH_TRY(levels.on_machine_of_any_size(
      [&] { return scatter(schedule, rows, row_bytes, byte, row, row_bytes, byte, levels.leader()); }));
  schedule.next_round();
  for (int at = 0; at < schedule.size(); ++at) {
    const int from = rank_at(at);
    schedule.unpack(row + at * block_bytes, in.place(from), in.count(from), in.type(from));
  }
  return {};
}

// In each round every rank sends to one rank and receives from one rank.
Status pairwise(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  const int own = schedule.rank();
  schedule.copy(out.place(own), out.count(own), out.type(own), in.place(own), in.count(own), in.type(own));
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int to = schedule.neighbor(distance);
    const int from = schedule.neighbor(-distance);
    schedule.next_round();
    schedule.receive(in.place(from), in.count(from), in.type(from), from);
    schedule.send(out.place(to), out.count(to), out.type(to), to);
  }
  return {};
}

// Replaces each block by the received one. In round `sum`, two ranks swap blocks if their ranks add up to
// `sum`, modulo the number of ranks.
Status swap_in_place(Schedule& schedule, const RankBlocks& blocks) {
  const int size = schedule.size();
  const int own = schedule.rank();
  int64_t bytes_max = 0;
  for (int rank = 0; rank < size; ++rank) {
    if (rank != own) bytes_max = std::max(bytes_max, blocks.bytes(rank));
  }
  std::byte* leaving;
  HEARTH_TRY(schedule.scratch(bytes_max, leaving));
  for (int sum = 0; sum < size; ++sum) {
    const int partner = (sum - own + size) % size;
    if (partner == own) continue;
    std::byte* block = blocks.place(partner);
    schedule.next_round();
    schedule.pack(block, blocks.count(partner), blocks.type(partner), leaving);
    schedule.receive(block, blocks.count(partner), blocks.type(partner), partner);
    schedule.send_bytes(leaving, blocks.bytes(partner), partner);
  }
  return {};
}

// Blocks travel packed, through other ranks: a block with a distance of d ranks moves by 2^k ranks in round k
// if bit k of d is set. So a rank sends log2(ranks) messages instead of one to each rank.
Status bruck(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  const int64_t block_bytes = out.bytes(0);
  if (block_bytes != in.bytes(0)) return unequal_blocks(block_bytes, in.bytes(0));
  const int size = schedule.size();
  // By distance: at first the block to send there, at the end the received block.
  std::byte* blocks;
  std::byte* outgoing;
  std::byte* incoming;
  HEARTH_TRY(schedule.scratch(saturated_product(size, block_bytes), blocks));
  HEARTH_TRY(schedule.scratch(saturated_product((size + 1) / 2, block_bytes), outgoing));
  HEARTH_TRY(schedule.scratch(saturated_product((size + 1) / 2, block_bytes), incoming));
  for (int way = 0; way < size; ++way) {
    const int rank = schedule.neighbor(way);
    schedule.pack(out.place(rank), out.count(rank), out.type(rank), blocks + way * block_bytes);
  }
  for (int bit = 1; bit < size; bit *= 2) {
    int64_t bytes = 0;
    for (int way = bit; way < size; ++way) {
      if ((way & bit) == 0) continue;
      schedule.copy_bytes(blocks + way * block_bytes, outgoing + bytes, block_bytes);
      bytes += block_bytes;
    }
    schedule.receive_bytes(incoming, bytes, schedule.neighbor(-bit));
    schedule.send_bytes(outgoing, bytes, schedule.neighbor(bit));
    schedule.next_round();
    bytes = 0;
    for (int way = bit; way < size; ++way) {
      if ((way & bit) == 0) continue;
      schedule.copy_bytes(incoming + bytes, blocks + way * block_bytes, block_bytes);
      bytes += block_bytes;
    }
  }
  for (int way = 0; way < size; ++way) {
    const int rank = schedule.neighbor(-way);
    schedule.unpack(blocks + way * block_bytes, in.place(rank), in.count(rank), in.type(rank));
  }
  return {};
}

#define HEARTH_ALLTOALL(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<AlltoallFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

/// Blocks of any lengths.
Status exchange(Schedule& schedule, const void* send, const RankBlocks& out, const RankBlocks& in) {
  if (schedule.is_inter()) {
    HEARTH_TRY(inter::check_buffer(send));
    return inter::alltoall(schedule, out, in);
  }
  if (send == MPI_IN_PLACE) return swap_in_place(schedule, in);
  return pairwise(schedule, out, in);
}

}  // namespace

Status alltoall(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                Count receive_count, Type& receive_type) {
  const RankBlocks out(send, send_count, send_type);
  const RankBlocks in(receive, receive_count, receive_type);
  if (schedule.is_inter()) return exchange(schedule, send, out, in);
  const int64_t bytes = receive_count * receive_type.size;
  Shape shape{.size = schedule.size(),
              .bytes = bytes,
              .pipeline = has_pipeline(schedule),
              .flat = fits_flat_slots(schedule.region(), Collective::alltoall,
                                      saturated_product(schedule.size(), bytes)),
              .context = schedule.context()};
  describe_machines(schedule, shape);
  if (shape.bytes == 0) return {};
  AlltoallFunction* algorithm = select(Collective::alltoall, kAlgorithms, shape);
  if (send != MPI_IN_PLACE) return algorithm(schedule, out, in);
  if (algorithm == flat || algorithm == pipeline || algorithm == machines) return algorithm(schedule, in, in);
  return swap_in_place(schedule, in);
}

Status alltoallv(Schedule& schedule, const void* send, CountArray send_counts, CountArray send_displacements,
                 Type& send_type, void* receive, CountArray receive_counts, CountArray receive_displacements,
                 Type& receive_type) {
  return exchange(schedule, send, RankBlocks(send, send_counts, send_displacements, send_type),
                  RankBlocks(receive, receive_counts, receive_displacements, receive_type));
}

Status alltoallw(Schedule& schedule, const void* send, CountArray send_counts, CountArray send_displacements,
                 Type* const* send_types, void* receive, CountArray receive_counts,
                 CountArray receive_displacements, Type* const* receive_types) {
  return exchange(schedule, send, RankBlocks(send, send_counts, send_displacements, send_types),
                  RankBlocks(receive, receive_counts, receive_displacements, receive_types));
}

}  // namespace hearth::coll
