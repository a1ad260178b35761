#include "coll/coll.h"
#include "coll/flat_slots.h"
#include "coll/inter.h"
#include "coll/levels.h"
#include "coll/select.h"
#include "coll/tree_slots.h"

namespace hearth::coll {

namespace {

using BarrierFunction = Status(Schedule& schedule);

Status flat(Schedule& schedule) {
  return add_flat_slots(schedule, [](FlatSlots& slots) {
    slots.barrier();
    return Status();
  });
}

Status tree(Schedule& schedule) {
  return add_tree_slots(schedule, [](TreeSlots& slots) { slots.barrier(); });
}

// Gather on each machine, barrier among the leaders, broadcast on each machine.
Status machines(Schedule& schedule) {
  Levels levels(schedule);
  std::byte* come;
  HEARTH_TRY(schedule.scratch(levels.size(), come));
  Type& byte = byte_type();
  HEARTH_TRY(
      levels.on_machine([&] { return gather(schedule, come, 1, byte, come, 1, byte, levels.leader()); }));
  HEARTH_TRY(levels.among_leaders([&] { return barrier(schedule); }));
  return levels.on_machine([&] { return bcast_in_group(schedule, come, 1, byte, levels.leader()); });
}

// After the round of distance d, this rank knows that the 2 d - 1 ranks before it have arrived.
Status dissemination(Schedule& schedule) {
  for (int distance = 1; distance < schedule.size(); distance *= 2) {
    schedule.next_round();
    schedule.receive_signal(schedule.neighbor(-distance));
    schedule.send_signal(schedule.neighbor(distance));
  }
  return {};
}

#define HEARTH_BARRIER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<BarrierFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status barrier(Schedule& schedule) {
  if (schedule.is_inter()) return inter::barrier(schedule);
  Shape shape{.size = schedule.size(),
              .flat = fits_flat_slots(schedule.region(), Collective::barrier, 0),
              .tree = fits_tree(schedule.region(), Collective::barrier, 0),
              .context = schedule.context()};
  describe_machines(schedule, shape);
  return select(Collective::barrier, kAlgorithms, shape)(schedule);
}

}  // namespace hearth::coll
