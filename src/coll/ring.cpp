#include "coll/ring.h"

#include "coll/scratch.h"
#include "datatype/reduce.h"

namespace hearth::coll {

Status ring_reduce(void* vector, const Shares& shares, Type& type, const Op& op, const Channel& channel) {
  ScratchElements incoming;
  HEARTH_TRY(incoming.reserve(type, shares.count_max()));
  const int next = channel.neighbor(1);
  const int previous = channel.neighbor(-1);
  for (int step = 0; step < channel.size() - 1; ++step) {
    const int leaving = channel.neighbor(-step);
    const int coming = channel.neighbor(-step - 1);
    HEARTH_TRY(channel.exchange(advance(vector, type, shares.begin(leaving)), shares.count(leaving), type,
                                next, incoming.data(), shares.count(coming), type, previous));
    HEARTH_TRY(datatype::reduce(op, type, incoming.data(), advance(vector, type, shares.begin(coming)),
                                shares.count(coming)));
  }
  return {};
}

}  // namespace hearth::coll
