#include "coll/blocks.h"
#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "coll/select.h"
#include "datatype/reduce.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// Where each rank's block begins and how long it is, in elements.
class Blocks {
 public:
  /// Blocks of `counts[rank]`.
  Status read(CountArray counts, int ranks) {
    HEARTH_TRY(memory_.reserve((ranks + 1) * static_cast<int64_t>(sizeof(Count))));
    begins_ = reinterpret_cast<Count*>(memory_.data());
    begins_[0] = 0;
    for (int rank = 0; rank < ranks; ++rank) begins_[rank + 1] = begins_[rank] + counts[rank];
    total_ = begins_[ranks];
    return {};
  }
  /// Blocks of equal length.
  void read(Count each, int ranks) {
    each_ = each;
    total_ = each * ranks;
  }

  Count begin(int rank) const { return begins_ != nullptr ? begins_[rank] : each_ * rank; }
  Count count(int rank) const { return begins_ != nullptr ? begins_[rank + 1] - begins_[rank] : each_; }
  Count total() const { return total_; }

 private:
  Scratch memory_;
  Count* begins_ = nullptr;
  Count each_ = 0;
  Count total_ = 0;
};

/// `input` is never MPI_IN_PLACE, but may be `receive`.
using ReduceScatterFunction = Status(const void* input, void* receive, const Blocks& blocks, Type& type,
                                     const Op& op, const Channel& channel);

// Each rank gets everybody's share of its block and reduces it as it comes.
Status pairwise(const void* input, void* receive, const Blocks& blocks, Type& type, const Op& op,
                const Channel& channel) {
  const Count own_count = blocks.count(channel.rank());
  ScratchElements result;
  ScratchElements incoming;
  HEARTH_TRY(result.reserve(type, own_count));
  HEARTH_TRY(incoming.reserve(type, own_count));
  HEARTH_TRY(datatype::copy(advance(input, type, blocks.begin(channel.rank())), own_count, type,
                            result.data(), own_count, type));
  for (int distance = 1; distance < channel.size(); ++distance) {
    const int to = channel.neighbor(distance);
    HEARTH_TRY(channel.exchange(advance(input, type, blocks.begin(to)), blocks.count(to), type, to,
                                incoming.data(), own_count, type, channel.neighbor(-distance)));
    HEARTH_TRY(datatype::reduce(op, type, incoming.data(), result.data(), own_count));
  }
  return datatype::copy(result.data(), own_count, type, receive, own_count, type);
}

// The same, but everybody's shares are kept and reduced in the order of ranks.
Status in_order(const void* input, void* receive, const Blocks& blocks, Type& type, const Op& op,
                const Channel& channel) {
  const Count own_count = blocks.count(channel.rank());
  ScratchElements all;
  HEARTH_TRY(all.reserve(type, own_count * channel.size()));
  const auto share_of = [&](int rank) { return advance(all.data(), type, own_count * rank); };
  HEARTH_TRY(datatype::copy(advance(input, type, blocks.begin(channel.rank())), own_count, type,
                            share_of(channel.rank()), own_count, type));
  for (int distance = 1; distance < channel.size(); ++distance) {
    const int to = channel.neighbor(distance);
    const int from = channel.neighbor(-distance);
    HEARTH_TRY(channel.exchange(advance(input, type, blocks.begin(to)), blocks.count(to), type, to,
                                share_of(from), own_count, type, from));
  }
  for (int rank = 1; rank < channel.size(); ++rank) {
    HEARTH_TRY(datatype::reduce(op, type, share_of(rank - 1), share_of(rank), own_count));
  }
  return datatype::copy(share_of(channel.size() - 1), own_count, type, receive, own_count, type);
}

#define HEARTH_REDUCE_SCATTER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<ReduceScatterFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

Status run(const void* send, void* receive, const Blocks& blocks, Type& type, const Op& op, Comm& comm) {
  HEARTH_TRY(datatype::check_reduction(op, type));
  const void* input = send == MPI_IN_PLACE ? receive : send;
  const Count total = blocks.total();
  const Shape shape{
      .size = comm.size, .bytes = total * type.size, .count = total, .commutative = op.commutative};
  if (shape.bytes == 0) return {};
  return select(Collective::reduce_scatter, kAlgorithms, shape)(input, receive, blocks, type, op,
                                                                Channel(comm, Tag::reduce_scatter));
}

}  // namespace

Status reduce_scatter(const void* send, void* receive, CountArray receive_counts, Type& type, const Op& op,
                      Comm& comm) {
  Blocks blocks;
  HEARTH_TRY(blocks.read(receive_counts, comm.size));
  return run(send, receive, blocks, type, op, comm);
}

Status reduce_scatter_block(const void* send, void* receive, Count receive_count, Type& type, const Op& op,
                            Comm& comm) {
  Blocks blocks;
  blocks.read(receive_count, comm.size);
  return run(send, receive, blocks, type, op, comm);
}

}  // namespace hearth::coll
