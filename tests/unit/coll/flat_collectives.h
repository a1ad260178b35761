// The collectives of FlatSlots and FlatCall, which have the same functions.
#pragma once

#include "coll/flat_call.h"
#include "coll/flat_slots.h"
#include "region_ranks.h"

namespace hearth::coll {

/// Calls the collective's function.
template <class Slots>
auto set_collective(Slots& slots, const Call& call, int* in, int* out, Type& type, Op& sum) {
  const int count = call.count;
  switch (call.what) {
    case What::barrier:
      return slots.barrier();
    case What::bcast:
      return slots.bcast(out, count, type, call.root);
    case What::gather:
      return slots.gather(in, count, type, out, count, type, call.root);
    case What::scatter:
      return slots.scatter(in, count, type, out, count, type, call.root);
    case What::allgather:
      return slots.allgather(in, count, type, out, count, type);
    case What::alltoall:
      return slots.alltoall(in, count, type, out, count, type);
    case What::reduce:
      return slots.reduce(in, out, count, type, sum, call.root);
    case What::allreduce:
      return slots.allreduce(in, out, count, type, sum);
    case What::blocks:
      return slots.reduce_scatter_block(in, out, count, type, sum);
    case What::scan:
      return slots.scan(in, out, count, type, sum);
    default:
      return slots.exscan(in, out, count, type, sum);
  }
}

inline Collective kind_of(What what) {
  switch (what) {
    case What::barrier:
      return Collective::barrier;
    case What::bcast:
      return Collective::bcast;
    case What::gather:
      return Collective::gather;
    case What::scatter:
      return Collective::scatter;
    case What::allgather:
      return Collective::allgather;
    case What::alltoall:
      return Collective::alltoall;
    case What::reduce:
      return Collective::reduce;
    case What::allreduce:
      return Collective::allreduce;
    case What::blocks:
      return Collective::reduce_scatter;
    default:
      return Collective::scan;
  }
}

}  // namespace hearth::coll
