#include "coll/coll.h"
#include "coll/inter.h"

namespace hearth::coll {

// Dissemination: after round k every rank has heard, through others, of the 2^k ranks before it.
Status barrier(Schedule& schedule) {
  if (schedule.is_inter()) return inter::barrier(schedule);
  for (int distance = 1; distance < schedule.size(); distance *= 2) {
    schedule.next_round();
    schedule.receive_signal(schedule.neighbor(-distance));
    schedule.send_signal(schedule.neighbor(distance));
  }
  return {};
}

}  // namespace hearth::coll
