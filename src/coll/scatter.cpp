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

/// `blocks` is significant on the root only. MPI_IN_PLACE: the root's own block stays in its place.
using ScatterFunction = Status(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root);

void keep_own(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root) {
  if (own.buffer == MPI_IN_PLACE) return;
  schedule.copy(blocks.place(root), blocks.count(root), blocks.type(root), own.buffer, own.count, own.type);
}

Status flat(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root) {
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    slots.scatter(blocks.place(0), blocks.count(0), blocks.type(0), own.buffer, own.count, own.type, root);
    return Status();
  });
}

Status pipeline(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root) {
  return move_through_pipeline(schedule, [&](PipelineMoves& moves) {
    moves.scatter(schedule, blocks, own, root);
    return Status();
  });
}

// Scatter from the root to the leaders, then on each machine. Blocks are packed, machine after machine. The
// root sends them from their place if the send buffer has this layout.
Status machines(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root) {
  Levels levels(schedule, root);
  const objects::Machines& where = levels.machines();
  const bool at_root = schedule.rank() == root;
  const int64_t block_bytes = at_root ? blocks.bytes(root) : own.bytes();
  PackedBlocks all;
  HEARTH_TRY(all.lay_out(schedule, where, [&](int) { return block_bytes; }));
  const int own_at = where.begin(where.own) + where.place;
  std::byte* packed;
  if (at_root && where.in_order && blocks.one_after_another()) {
    packed = blocks.place(0) + blocks.type(0).true_lower_bound;
  } else if (at_root) {
    HEARTH_TRY(schedule.scratch(all.total(), packed));
    for (int at = 0; at < schedule.size(); ++at) {
      const int to = where.ranks[static_cast<size_t>(at)];
      schedule.pack(blocks.place(to), blocks.count(to), blocks.type(to), packed + all.begin(at));
    }
  } else {
    // A leader needs room for the blocks of its machine, another rank for its own block.
    const int64_t first = levels.leads() ? all.machine_begin(where.own) : all.begin(own_at);
    HEARTH_TRY(schedule.scratch(levels.leads() ? all.machine_length(where.own) : block_bytes, packed));
    packed -= first;
  }
  HEARTH_TRY(levels.among_leaders([&] { return all.scatter_machines(schedule, levels, packed); }));
  HEARTH_TRY(levels.on_machine([&] { return all.scatter(schedule, levels, packed); }));
  if (own.buffer == MPI_IN_PLACE) return {};
  schedule.next_round();
  schedule.unpack(packed + all.begin(own_at), own.buffer, own.count, own.type);
  return {};
}

// Down a binomial tree, packed: the root sends log2(ranks) messages.
Status binomial(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root) {
  const Tree tree(schedule.rank(), schedule.size(), root);
  const int64_t block_bytes = tree.is_root() ? blocks.bytes(root) : own.bytes();
  if (!tree.is_root() && tree.is_leaf()) {
    schedule.receive(own.buffer, own.count, own.type, tree.parent());
    return {};
  }
  std::byte* packed;
  HEARTH_TRY(schedule.scratch(saturated_product(tree.subtree_size(), block_bytes), packed));
  if (tree.is_root()) {
    for (int place = 1; place < schedule.size(); ++place) {
      const int rank = tree.rank_after(place);
      schedule.pack(blocks.place(rank), blocks.count(rank), blocks.type(rank), packed + place * block_bytes);
    }
  } else {
    schedule.receive_bytes(packed, tree.subtree_size() * block_bytes, tree.parent());
    schedule.next_round();
  }
  for (int bit = tree.top_bit(); bit > 0; bit /= 2) {
    if (!tree.has_child(bit)) continue;
    schedule.send_bytes(packed + bit * block_bytes, tree.child_size(bit) * block_bytes, tree.child(bit));
  }
  if (tree.is_root()) {
    keep_own(schedule, blocks, own, root);
  } else {
    schedule.unpack(packed, own.buffer, own.count, own.type);
  }
  return {};
}

Status linear(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root) {
  if (schedule.rank() != root) {
    schedule.receive(own.buffer, own.count, own.type, root);
    return {};
  }
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int rank = schedule.neighbor(distance);
    schedule.send(blocks.place(rank), blocks.count(rank), blocks.type(rank), rank);
  }
  keep_own(schedule, blocks, own, root);
  return {};
}

#define HEARTH_SCATTER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<ScatterFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status scatter(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
               Count receive_count, Type& receive_type, int root) {
  const RankBlocks blocks(send, send_count, send_type);
  const OwnBlock own{receive, receive_count, receive_type};
  if (schedule.is_inter()) return inter::scatter(schedule, blocks, own, root);
  const int64_t bytes = schedule.rank() == root ? blocks.bytes(root) : own.bytes();
  Shape shape{.size = schedule.size(),
              .bytes = bytes,
              .pipeline = has_pipeline(schedule),
              .flat = fits_flat_slots(schedule.region(), Collective::scatter,
                                      saturated_product(schedule.size(), bytes)),
              .context = schedule.context()};
  describe_machines(schedule, shape);
  if (shape.bytes == 0) return {};
  return select(Collective::scatter, kAlgorithms, shape)(schedule, blocks, own, root);
}

Status scatterv(Schedule& schedule, const void* send, CountArray send_counts, CountArray displacements,
                Type& send_type, void* receive, Count receive_count, Type& receive_type, int root) {
  const OwnBlock own{receive, receive_count, receive_type};
  const RankBlocks blocks(send, send_counts, displacements, send_type);
  if (schedule.is_inter()) return inter::scatter(schedule, blocks, own, root);
  return linear(schedule, blocks, own, root);
}

}  // namespace hearth::coll
