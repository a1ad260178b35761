#include <algorithm>

#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/inter.h"
#include "coll/levels.h"
#include "coll/packed.h"
#include "coll/pipeline.h"
#include "coll/select.h"
#include "coll/tree.h"
#include "coll/tree_slots.h"

namespace hearth::coll {
namespace {

using BcastFunction = Status(Schedule& schedule, void* buffer, Count count, Type& type, int root);

Status flat(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  return add_flat_slots(schedule, [&](FlatSlots& slots) {
    slots.bcast(buffer, count, type, root);
    return Status();
  });
}

Status tree(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  return add_tree_slots(schedule, [&](TreeSlots& slots) { slots.bcast(buffer, count, type, root); });
}

Status pipeline(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  return move_through_pipeline(schedule, [&](PipelineMoves& moves) {
    moves.bcast(buffer, count, type, root);
    return Status();
  });
}

// Broadcast among the leaders, then on each machine.
Status machines(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  Levels levels(schedule, root);
  HEARTH_TRY(levels.among_leaders(
      [&] { return bcast_in_group(schedule, buffer, count, type, levels.root_machine()); }));
  return levels.on_machine([&] { return bcast_in_group(schedule, buffer, count, type, levels.leader()); });
}

// Each rank that has the data sends them to the rank half the remaining distance away.
Status binomial(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  const Tree ranks(schedule.rank(), schedule.size(), root);
  if (!ranks.is_root()) {
    schedule.receive(buffer, count, type, ranks.parent());
    schedule.next_round();
  }
  for (int bit = ranks.top_bit(); bit > 0; bit /= 2) {
    if (ranks.has_child(bit)) schedule.send(buffer, count, type, ranks.child(bit));
  }
  return {};
}

// From rank to rank, in pieces: a rank receives the next piece while it forwards the previous one.
Status chain(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  constexpr int64_t kPieceBytes = 64 * 1024;
  const int64_t bytes = count * type.size;
  const bool first = schedule.rank() == root;
  const bool last = schedule.neighbor(1) == root;
  Packed packed;
  HEARTH_TRY(packed.reserve(schedule, buffer, count, type));
  if (first) packed.fill(schedule);
  const auto piece_bytes = [&](int64_t begin) { return std::min(kPieceBytes, bytes - begin); };
  for (int64_t begin = 0; begin < bytes; begin += kPieceBytes) {
    if (!first) {
      schedule.receive_bytes(packed.data() + begin, piece_bytes(begin), schedule.neighbor(-1));
      schedule.next_round();
    }
    if (!last) schedule.send_bytes(packed.data() + begin, piece_bytes(begin), schedule.neighbor(1));
  }
  if (!first) packed.empty(schedule);
  return {};
}

#define HEARTH_BCAST(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<BcastFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status bcast(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  if (schedule.is_inter()) return inter::bcast(schedule, buffer, count, type, root);
  return bcast_in_group(schedule, buffer, count, type, root);
}

Status bcast_in_group(Schedule& schedule, void* buffer, Count count, Type& type, int root) {
  const int64_t bytes = count * type.size;
  Shape shape{.size = schedule.size(),
              .bytes = bytes,
              .pipeline = has_pipeline(schedule),
              .flat = fits_flat_slots(schedule.region(), Collective::bcast, bytes),
              .tree = fits_tree(schedule.region(), Collective::bcast, bytes),
              .context = schedule.context()};
  describe_machines(schedule, shape);
  if (shape.size == 1 || shape.bytes == 0) return {};
  return select(Collective::bcast, kAlgorithms, shape)(schedule, buffer, count, type, root);
}

}  // namespace hearth::coll
