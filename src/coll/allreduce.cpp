#include <utility>

#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/ring.h"
#include "coll/scratch.h"
#include "coll/select.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// `receive` holds this rank's elements at the start, and the result at the end.
using AllreduceFunction = Status(void* receive, Count count, Type& type, const Op& op, Comm& comm);

/// Which ranks take part in the doubling: of the first ranks, as many as there are beyond a power of two, the
/// even ones hand their elements to the odd ones and get the result from them. So each takes part for a run
/// of consecutive ranks, and the order of ranks is kept.
class Doubling {
 public:
  explicit Doubling(const Channel& channel) : rank_(channel.rank()) {
    while (players_ * 2 <= channel.size()) players_ *= 2;
    handing_over_ = channel.size() - players_;
  }

  int players() const { return players_; }
  bool hands_over() const { return rank_ < 2 * handing_over_ && rank_ % 2 == 0; }
  bool takes_over() const { return rank_ < 2 * handing_over_ && rank_ % 2 == 1; }
  /// The rank that this one meets in the round of `bit`. Pre: takes part.
  int partner(int bit) const {
    const int place = (rank_ < 2 * handing_over_ ? rank_ / 2 : rank_ - handing_over_) ^ bit;
    return place < handing_over_ ? 2 * place + 1 : place + handing_over_;
  }

 private:
  int rank_;
  int players_ = 1;  // the largest power of two that is not above the number of ranks
  int handing_over_ = 0;
};

// In each round two ranks exchange what they have and both compute the same: left op right, the lower ranks
// on the left. So all ranks end with the same bits.
Status recursive_doubling(void* receive, Count count, Type& type, const Op& op, Comm& comm) {
  const Channel channel(comm, Tag::allreduce);
  const Doubling doubling(channel);
  if (doubling.hands_over()) {
    HEARTH_TRY(channel.send(receive, count, type, channel.rank() + 1));
    return channel.receive(receive, count, type, channel.rank() + 1);
  }
  ScratchElements scratch;
  HEARTH_TRY(scratch.reserve(type, count));
  void* own = receive;
  void* incoming = scratch.data();
  if (doubling.takes_over()) {
    HEARTH_TRY(channel.receive(incoming, count, type, channel.rank() - 1));
    HEARTH_TRY(datatype::reduce(op, type, incoming, own, count));
  }
  for (int bit = 1; bit < doubling.players(); bit *= 2) {
    const int partner = doubling.partner(bit);
    HEARTH_TRY(channel.exchange(own, count, type, partner, incoming, count, type, partner));
    if (partner < channel.rank()) {
      HEARTH_TRY(datatype::reduce(op, type, incoming, own, count));
    } else {
      HEARTH_TRY(datatype::reduce(op, type, own, incoming, count));
      std::swap(own, incoming);
    }
  }
  HEARTH_TRY(datatype::copy(own, count, type, receive, count, type));
  return doubling.takes_over() ? channel.send(receive, count, type, channel.rank() - 1) : Status();
}

// Each rank reduces one share, then the shares go around.
Status ring(void* receive, Count count, Type& type, const Op& op, Comm& comm) {
  const Channel channel(comm, Tag::allreduce);
  const Shares shares(count, channel.size());
  HEARTH_TRY(ring_reduce(receive, shares, type, op, channel));
  for (int step = 0; step < channel.size() - 1; ++step) {
    const int leaving = channel.neighbor(1 - step);
    const int coming = channel.neighbor(-step);
    HEARTH_TRY(channel.exchange(advance(receive, type, shares.begin(leaving)), shares.count(leaving), type,
                                channel.neighbor(1), advance(receive, type, shares.begin(coming)),
                                shares.count(coming), type, channel.neighbor(-1)));
  }
  return {};
}

// For large vectors and operations that do not commute.
Status reduce_bcast(void* receive, Count count, Type& type, const Op& op, Comm& comm) {
  HEARTH_TRY(reduce(comm.rank == 0 ? MPI_IN_PLACE : receive, receive, count, type, op, 0, comm));
  return bcast(receive, count, type, 0, comm);
}

#define HEARTH_ALLREDUCE(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<AllreduceFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status allreduce(const void* send, void* receive, Count count, Type& type, const Op& op, Comm& comm) {
  HEARTH_TRY(datatype::check_reduction(op, type));
  if (send != MPI_IN_PLACE) HEARTH_TRY(datatype::copy(send, count, type, receive, count, type));
  const Shape shape{
      .size = comm.size, .bytes = count * type.size, .count = count, .commutative = op.commutative};
  if (shape.size == 1 || shape.bytes == 0) return {};
  return select(Collective::allreduce, kAlgorithms, shape)(receive, count, type, op, comm);
}

}  // namespace hearth::coll
