// The ring for large commutative reductions: each rank exchanges messages with its two neighbours only, and
// every byte goes around once.
#pragma once

#include "coll/blocks.h"
#include "coll/schedule.h"

namespace hearth::coll {

/// `vector` holds this rank's elements, cut into one share per rank. Afterwards the share ring_share() holds
/// the reduction over all ranks, and the other shares hold partial results.
Status ring_reduce(Schedule& schedule, void* vector, const Shares& shares, Type& type, Op& op);

/// The share that ring_reduce() completes on a rank.
inline int ring_share(const Schedule& schedule, int rank) {
  return (rank + 1) % schedule.size();
}

/// Each rank passes blocks to the next rank until all ranks have had all blocks. This rank starts with block
/// `first`, the next rank with `first` + 1. `place_of` and `count_of` give the address and the length of a
/// block.
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
