#include "coll/ring.h"

namespace hearth::coll {

Status ring_reduce(Schedule& schedule, void* vector, const Shares& shares, Type& type, Op& op) {
  std::byte* incoming;
  HEARTH_TRY(schedule.scratch(type, shares.count_max(), incoming));
  for (int step = 0; step < schedule.size() - 1; ++step) {
    const int leaving = schedule.neighbor(-step);
    const int coming = schedule.neighbor(-step - 1);
    std::byte* share = advance(vector, type, shares.begin(coming));
    schedule.receive(incoming, shares.count(coming), type, schedule.neighbor(-1));
    schedule.send(advance(vector, type, shares.begin(leaving)), shares.count(leaving), type,
                  schedule.neighbor(1));
    schedule.next_round();
    schedule.reduce(op, type, incoming, share, shares.count(coming));
  }
  return {};
}

}  // namespace hearth::coll
