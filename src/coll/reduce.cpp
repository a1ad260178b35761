#include <utility>

#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/ring.h"
#include "coll/scratch.h"
#include "coll/select.h"
#include "coll/tree.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// `input` is never MPI_IN_PLACE; at the root it may be `receive` itself.
using ReduceFunction = Status(const void* input, void* receive, Count count, Type& type, const Op& op,
                              int root, const Channel& channel);

// Up a binomial tree, whose subtrees are consecutive ranks: rank order is kept. Where order counts, the tree
// stands at rank 0 and the result goes on to the root.
Status binomial(const void* input, void* receive, Count count, Type& type, const Op& op, int root,
                const Channel& channel) {
  const int top = op.commutative ? root : 0;
  const bool at_root = channel.rank() == root;
  const Tree tree(channel.rank(), channel.size(), top);
  if (tree.is_leaf()) {
    HEARTH_TRY(channel.send(input, count, type, tree.parent()));
  } else {
    // The result of a step lies in the buffer of its right operand, so two buffers take turns.
    ScratchElements first;
    ScratchElements second;
    HEARTH_TRY(first.reserve(type, count));
    HEARTH_TRY(second.reserve(type, count));
    const void* own = input;
    void* incoming = first.data();
    void* spare = second.data();
    for (int bit = 1; bit <= tree.top_bit(); bit *= 2) {
      if (!tree.has_child(bit)) break;
      HEARTH_TRY(channel.receive(incoming, count, type, tree.child(bit)));
      HEARTH_TRY(datatype::reduce(op, type, own, incoming, count));
      own = incoming;
      std::swap(incoming, spare);
    }
    if (!tree.is_root()) {
      HEARTH_TRY(channel.send(own, count, type, tree.parent()));
    } else if (at_root) {
      HEARTH_TRY(datatype::copy(own, count, type, receive, count, type));
    } else {
      HEARTH_TRY(channel.send(own, count, type, root));
    }
  }
  return at_root && top != root ? channel.receive(receive, count, type, top) : Status();
}

// Large vectors: each rank reduces one share, the root collects them.
Status ring_gather(const void* input, void* receive, Count count, Type& type, const Op& op, int root,
                   const Channel& channel) {
  ScratchElements own;
  void* vector = receive;
  if (channel.rank() != root) {
    HEARTH_TRY(own.reserve(type, count));
    vector = own.data();
  }
  HEARTH_TRY(datatype::copy(input, count, type, vector, count, type));
  const Shares shares(count, channel.size());
  HEARTH_TRY(ring_reduce(vector, shares, type, op, channel));
  if (channel.rank() != root) {
    const int share = ring_share(channel, channel.rank());
    return channel.send(advance(vector, type, shares.begin(share)), shares.count(share), type, root);
  }
  Window window(channel);
  for (int rank = 0; rank < channel.size(); ++rank) {
    if (rank == root) continue;
    const int share = ring_share(channel, rank);
    HEARTH_TRY(window.receive(advance(vector, type, shares.begin(share)), shares.count(share), type, rank));
  }
  return window.finish();
}

#define HEARTH_REDUCE(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<ReduceFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status reduce(const void* send, void* receive, Count count, Type& type, const Op& op, int root, Comm& comm) {
  HEARTH_TRY(datatype::check_reduction(op, type));
  const void* input = send == MPI_IN_PLACE ? receive : send;
  const Shape shape{
      .size = comm.size, .bytes = count * type.size, .count = count, .commutative = op.commutative};
  if (shape.bytes == 0) return {};
  if (shape.size == 1) return datatype::copy(input, count, type, receive, count, type);
  return select(Collective::reduce, kAlgorithms, shape)(input, receive, count, type, op, root,
                                                        Channel(comm, Tag::reduce));
}

}  // namespace hearth::coll
