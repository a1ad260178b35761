// The ring on which large commutative reductions run: each rank talks to its neighbours only, and every byte
// goes around once.
#pragma once

#include "coll/blocks.h"
#include "coll/channel.h"
#include "coll/coll.h"

namespace hearth::coll {

/// `vector` holds this rank's elements, cut into a share for each rank. Afterwards the share of the next rank
/// (ring_share()) holds the reduction over all ranks, the others partial ones.
Status ring_reduce(void* vector, const Shares& shares, Type& type, const Op& op, const Channel& channel);

/// The share that ring_reduce() completes here.
inline int ring_share(const Channel& channel, int rank) {
  return (rank + 1) % channel.size();
}

}  // namespace hearth::coll
