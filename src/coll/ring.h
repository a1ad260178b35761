// The ring on which large commutative reductions run: each rank talks to its neighbours only, and every byte
// goes around once.
#pragma once

#include "coll/blocks.h"
#include "coll/schedule.h"

namespace hearth::coll {

/// `vector` holds this rank's elements, cut into a share for each rank. Afterwards the share of the next rank
/// (ring_share()) holds the reduction over all ranks, the others partial ones.
Status ring_reduce(Schedule& schedule, void* vector, const Shares& shares, Type& type, Op& op);

/// The share that ring_reduce() completes on a rank.
inline int ring_share(const Schedule& schedule, int rank) {
  return (rank + 1) % schedule.size();
}

/// Blocks go from each rank to the next until all have come by: first number `first` of this rank, which is
/// one more on the next rank. `place_of` and `count_of` say where a block lies and how long it is.
template <class PlaceOf, class CountOf>
void go_around(Schedule& schedule, int first, PlaceOf place_of, CountOf count_of, Type& type) {
  const auto at = [&](int step) { return (first - step + schedule.size()) % schedule.size(); };
  for (int step = 0; step < schedule.size() - 1; ++step) {
    const int leaving = at(step);
    const int coming = at(step + 1);
    schedule.next_round();
    schedule.receive(place_of(coming), count_of(coming), type, schedule.neighbor(-1));
    schedule.send(place_of(leaving), count_of(leaving), type, schedule.neighbor(1));
  }
}

}  // namespace hearth::coll
