#include "coll/blocks.h"
#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/inter.h"
#include "coll/levels.h"
#include "coll/pipeline.h"
#include "coll/select.h"
#include "coll/tree.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// `blocks` is significant on the root only. MPI_IN_PLACE: the root's own block is already in its place.
using GatherFunction = Status(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root);

void keep_own(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root) {
  if (own.buffer == MPI_IN_PLACE) return;
  schedule.copy(own.buffer, own.count, own.type, blocks.place(root), blocks.count(root), blocks.type(root));
}

Status flat(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root) {
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    slots.gather(own.buffer, own.count, own.type, blocks.place(0), blocks.count(0), blocks.type(0), root);
    return Status();
  });
}

Status pipeline(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root) {
  return move_through_pipeline(schedule, [&](PipelineMoves& moves) {
    moves.gather(schedule, own, blocks, root);
    return Status();
  });
}

// Gather on each machine, then from the leaders to the root. Blocks are packed, machine after machine. The
// root receives them in place if the receive buffer has this layout.
Status machines(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root) {
  Levels levels(schedule, root);
  const objects::Machines& where = levels.machines();
  const int rank = schedule.rank();
  const bool at_root = rank == root;
  const int64_t block_bytes = at_root ? blocks.bytes(root) : own.bytes();
  PackedBlocks all;
  HEARTH_TRY(all.lay_out(schedule, where, [&](int) { return block_bytes; }));
  const bool in_place = at_root && where.in_order && blocks.one_after_another();
  const int own_at = where.begin(where.own) + where.place;
  std::byte* packed;
  if (in_place) {
    packed = blocks.place(0) + blocks.type(0).true_lower_bound;
  } else if (at_root) {
    HEARTH_TRY(schedule.scratch(all.total(), packed));
  } else {
    // A leader needs room for the blocks of its machine, another rank for its own block.
    const int64_t first = levels.leads() ? all.machine_begin(where.own) : all.begin(own_at);
    HEARTH_TRY(schedule.scratch(levels.leads() ? all.machine_length(where.own) : block_bytes, packed));
    packed -= first;
  }
  if (own.buffer != MPI_IN_PLACE) {
    schedule.pack(own.buffer, own.count, own.type, packed + all.begin(own_at));
  } else if (!in_place) {
    schedule.pack(blocks.place(root), blocks.count(root), blocks.type(root), packed + all.begin(own_at));
  }
  HEARTH_TRY(levels.on_machine([&] { return all.gather(schedule, levels, packed); }));
  HEARTH_TRY(levels.among_leaders([&] { return all.gather_machines(schedule, levels, packed); }));
  if (!at_root || in_place) return {};
  schedule.next_round();
  for (int at = 0; at < schedule.size(); ++at) {
    const int from = where.ranks[static_cast<size_t>(at)];
    if (from == root && own.buffer == MPI_IN_PLACE) continue;
    schedule.unpack(packed + all.begin(at), blocks.place(from), blocks.count(from), blocks.type(from));
  }
  return {};
}

// Up a binomial tree, packed: the root receives log2(ranks) messages.
Status binomial(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root) {
  const Tree tree(schedule.rank(), schedule.size(), root);
  const int64_t block_bytes = tree.is_root() ? blocks.bytes(root) : own.bytes();
  if (!tree.is_root() && tree.is_leaf()) {
    schedule.send(own.buffer, own.count, own.type, tree.parent());
    return {};
  }
  std::byte* packed;
  HEARTH_TRY(schedule.scratch(saturated_product(tree.subtree_size(), block_bytes), packed));
  for (int bit = 1; bit <= tree.top_bit() && tree.has_child(bit); bit *= 2) {
    schedule.receive_bytes(packed + bit * block_bytes, tree.child_size(bit) * block_bytes, tree.child(bit));
  }
  if (!tree.is_root()) {
    schedule.pack(own.buffer, own.count, own.type, packed);
    schedule.next_round();
    schedule.send_bytes(packed, tree.subtree_size() * block_bytes, tree.parent());
    return {};
  }
  keep_own(schedule, own, blocks, root);
  schedule.next_round();
  for (int place = 1; place < schedule.size(); ++place) {
    const int rank = tree.rank_after(place);
    schedule.unpack(packed + place * block_bytes, blocks.place(rank), blocks.count(rank), blocks.type(rank));
  }
  return {};
}

Status linear(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root) {
  if (schedule.rank() != root) {
    schedule.send(own.buffer, own.count, own.type, root);
    return {};
  }
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int rank = schedule.neighbor(distance);
    schedule.receive(blocks.place(rank), blocks.count(rank), blocks.type(rank), rank);
  }
  keep_own(schedule, own, blocks, root);
  return {};
}

#define HEARTH_GATHER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<GatherFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status gather(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
              Count receive_count, Type& receive_type, int root) {
  const OwnBlock own{const_cast<void*>(send), send_count, send_type};
  const RankBlocks blocks(receive, receive_count, receive_type);
  if (schedule.is_inter()) return inter::gather(schedule, own, blocks, root);
  const int64_t bytes = schedule.rank() == root ? blocks.bytes(root) : own.bytes();
  Shape shape{.size = schedule.size(),
              .bytes = bytes,
              .pipeline = has_pipeline(schedule),
              .flat = fits_flat_slots(schedule.region(), Collective::gather, bytes),
              .context = schedule.context()};
  describe_machines(schedule, shape);
  if (shape.bytes == 0) return {};
  return select(Collective::gather, kAlgorithms, shape)(schedule, own, blocks, root);
}

Status gatherv(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
               CountArray receive_counts, CountArray displacements, Type& receive_type, int root) {
  const OwnBlock own{const_cast<void*>(send), send_count, send_type};
  const RankBlocks blocks(receive, receive_counts, displacements, receive_type);
  if (schedule.is_inter()) return inter::gather(schedule, own, blocks, root);
  return linear(schedule, own, blocks, root);
}

}  // namespace hearth::coll
