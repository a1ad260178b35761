#include <algorithm>

#include "coll/blocks.h"
#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/inter.h"
#include "coll/levels.h"
#include "coll/pipeline.h"
#include "coll/ring.h"
#include "coll/select.h"
#include "coll/tree_slots.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// The address of the own block may be MPI_IN_PLACE.
using AllgatherFunction = Status(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks);

void keep_own(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  if (own.buffer == MPI_IN_PLACE) return;
  const int rank = schedule.rank();
  schedule.copy(own.buffer, own.count, own.type, blocks.place(rank), blocks.count(rank), blocks.type(rank));
}

Status pipeline(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  return move_through_pipeline(schedule,
                               [&](PipelineMoves& moves) { return moves.allgather(schedule, own, blocks); });
}

Status flat(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  keep_own(schedule, own, blocks);
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    slots.allgather(MPI_IN_PLACE, 0, blocks.type(0), blocks.place(0), blocks.count(0), blocks.type(0));
    return Status();
  });
}

Status tree(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  return add_tree_slots(schedule, [&](TreeSlots& slots) {
    slots.allgather(own.buffer, own.count, own.type, blocks.place(0), blocks.count(0), blocks.type(0));
  });
}

// Gather on each machine, allgather among the leaders, broadcast of all blocks on each machine. Blocks are
// packed, machine after machine, or stay in place if they already have this layout.
Status machines(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  Levels levels(schedule);
  const objects::Machines& where = levels.machines();
  PackedBlocks all;
  HEARTH_TRY(all.lay_out(schedule, where, [&](int rank) { return blocks.bytes(rank); }));
  const bool in_place = where.in_order && blocks.one_after_another();
  std::byte* packed = blocks.place(0) + blocks.type(0).true_lower_bound;
  if (!in_place) HEARTH_TRY(schedule.scratch(all.total(), packed));
  keep_own(schedule, own, blocks);
  const int rank = schedule.rank();
  const int own_at = where.begin(where.own) + where.place;
  if (!in_place) {
    schedule.pack(blocks.place(rank), blocks.count(rank), blocks.type(rank), packed + all.begin(own_at));
  }
  HEARTH_TRY(levels.on_machine([&] { return all.gather(schedule, levels, packed); }));
  HEARTH_TRY(levels.among_leaders([&] { return all.allgather_machines(schedule, packed); }));
  HEARTH_TRY(levels.on_machine(
      [&] { return bcast_in_group(schedule, packed, all.total(), byte_type(), levels.leader()); }));
  if (in_place) return {};
  schedule.next_round();
  for (int at = 0; at < schedule.size(); ++at) {
    const int from = where.ranks[static_cast<size_t>(at)];
    if (from == rank) continue;
    schedule.unpack(packed + all.begin(at), blocks.place(from), blocks.count(from), blocks.type(from));
  }
  return {};
}

// In round k each rank receives, packed, the blocks of the 2^k ranks that follow those it already has.
Status bruck(Schedule& schedule, const OwnBlock& own_block, const RankBlocks& blocks) {
  keep_own(schedule, own_block, blocks);
  const int size = schedule.size();
  const int own = schedule.rank();
  const int64_t block_bytes = blocks.bytes(own);
  std::byte* packed;
  HEARTH_TRY(schedule.scratch(saturated_product(size, block_bytes), packed));
  schedule.pack(blocks.place(own), blocks.count(own), blocks.type(own), packed);
  for (int have = 1; have < size; have *= 2) {
    const int64_t bytes = std::min(have, size - have) * block_bytes;
    schedule.receive_bytes(packed + have * block_bytes, bytes, schedule.neighbor(have));
    schedule.send_bytes(packed, bytes, schedule.neighbor(-have));
    schedule.next_round();
  }
  for (int distance = 1; distance < size; ++distance) {
    const int rank = schedule.neighbor(distance);
    schedule.unpack(packed + distance * block_bytes, blocks.place(rank), blocks.count(rank),
                    blocks.type(rank));
  }
  return {};
}

Status ring(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  keep_own(schedule, own, blocks);
  go_around(
      schedule, schedule.rank(), [&](int rank) { return blocks.place(rank); },
      [&](int rank) { return blocks.count(rank); }, blocks.type(0));
  return {};
}

#define HEARTH_ALLGATHER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<AllgatherFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

Status between_groups(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks) {
  HEARTH_TRY(inter::check_buffer(own.buffer));
  return inter::allgather(schedule, own, blocks);
}

}  // namespace

Status allgather(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                 Count receive_count, Type& receive_type) {
  const OwnBlock own{const_cast<void*>(send), send_count, send_type};
  const RankBlocks blocks(receive, receive_count, receive_type);
  if (schedule.is_inter()) return between_groups(schedule, own, blocks);
  const int64_t bytes = receive_count * receive_type.size;
  Shape shape{.size = schedule.size(),
              .bytes = bytes,
              .pipeline = has_pipeline(schedule),
              .flat = fits_flat_slots(schedule.region(), Collective::allgather, bytes),
              .tree = fits_tree(schedule.region(), Collective::allgather, bytes),
              .context = schedule.context()};
  describe_machines(schedule, shape);
  if (shape.bytes == 0) return {};
  return select(Collective::allgather, kAlgorithms, shape)(schedule, own, blocks);
}

Status allgatherv(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                  CountArray receive_counts, CountArray displacements, Type& receive_type) {
  const OwnBlock own{const_cast<void*>(send), send_count, send_type};
  const RankBlocks blocks(receive, receive_counts, displacements, receive_type);
  if (schedule.is_inter()) return between_groups(schedule, own, blocks);
  int64_t longest = 0;
  for (int rank = 0; rank < schedule.size(); ++rank) longest = std::max(longest, blocks.bytes(rank));
  Shape shape{.size = schedule.size(),
              .bytes = longest,
              .equal = false,
              .pipeline = has_pipeline(schedule),
              .context = schedule.context()};
  describe_machines(schedule, shape);
  return select(Collective::allgather, kAlgorithms, shape)(schedule, own, blocks);
}

}  // namespace hearth::coll
