#include <utility>

#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

// Recursive doubling. After the round of `bit` a rank has in `partial` the reduction over its aligned run of
// 2*bit ranks (or what exists of it), and in `result` that over the ranks of the run that come before it,
// itself included in an inclusive scan. A run on the left is always whole, so the number of ranks does not
// matter.
Status doubling(const void* input, void* result, bool inclusive, Count count, Type& type, const Op& op,
                const Channel& channel) {
  ScratchElements first;
  ScratchElements second;
  HEARTH_TRY(first.reserve(type, count));
  HEARTH_TRY(second.reserve(type, count));
  void* partial = first.data();
  void* incoming = second.data();
  HEARTH_TRY(datatype::copy(input, count, type, partial, count, type));
  bool has_result = inclusive;
  if (inclusive) HEARTH_TRY(datatype::copy(input, count, type, result, count, type));
  for (int bit = 1; bit < channel.size(); bit *= 2) {
    const int partner = channel.rank() ^ bit;
    if (partner >= channel.size()) continue;
    HEARTH_TRY(channel.exchange(partial, count, type, partner, incoming, count, type, partner));
    if (partner < channel.rank()) {
      if (has_result) {
        HEARTH_TRY(datatype::reduce(op, type, incoming, result, count));
      } else {
        HEARTH_TRY(datatype::copy(incoming, count, type, result, count, type));
        has_result = true;
      }
      HEARTH_TRY(datatype::reduce(op, type, incoming, partial, count));
    } else {
      HEARTH_TRY(datatype::reduce(op, type, partial, incoming, count));
      std::swap(partial, incoming);
    }
  }
  return {};
}

}  // namespace

Status scan(const void* send, void* receive, Count count, Type& type, const Op& op, Comm& comm) {
  HEARTH_TRY(datatype::check_reduction(op, type));
  if (count == 0 || type.size == 0) return {};
  const void* input = send == MPI_IN_PLACE ? receive : send;
  return doubling(input, receive, true, count, type, op, Channel(comm, Tag::scan));
}

Status exscan(const void* send, void* receive, Count count, Type& type, const Op& op, Comm& comm) {
  HEARTH_TRY(datatype::check_reduction(op, type));
  if (count == 0 || type.size == 0) return {};
  const void* input = send == MPI_IN_PLACE ? receive : send;
  return doubling(input, receive, false, count, type, op, Channel(comm, Tag::exscan));
}

}  // namespace hearth::coll
