#include "coll/blocks.h"
#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "coll/select.h"
#include "coll/tree.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// At the root everybody's block, and the place for a rank's own. In place: the root's own stays where it is.
struct ScatterBuffers {
  const void* send;
  Count send_count;
  Type& send_type;
  void* receive;
  Count receive_count;
  Type& receive_type;

  const std::byte* block_of(int rank) const { return advance(send, send_type, send_count * rank); }
  Status keep_own(int rank) const {
    if (receive == MPI_IN_PLACE) return {};
    return datatype::copy(block_of(rank), send_count, send_type, receive, receive_count, receive_type);
  }
};

using ScatterFunction = Status(const ScatterBuffers& buffers, int64_t block_bytes, int root,
                               const Channel& channel);

// Down a tree, packed: the root sends log2(ranks) messages.
Status binomial(const ScatterBuffers& buffers, int64_t block_bytes, int root, const Channel& channel) {
  const Tree tree(channel.rank(), channel.size(), root);
  if (!tree.is_root() && tree.is_leaf()) {
    return channel.receive(buffers.receive, buffers.receive_count, buffers.receive_type, tree.parent());
  }
  Scratch blocks;
  HEARTH_TRY(blocks.reserve(tree.subtree_size() * block_bytes));
  if (tree.is_root()) {
    for (int place = 1; place < channel.size(); ++place) {
      datatype::pack(buffers.send_type, buffers.block_of(tree.rank_after(place)), buffers.send_count, 0,
                     blocks.data() + place * block_bytes, static_cast<size_t>(block_bytes));
    }
  } else {
    HEARTH_TRY(channel.receive_bytes(blocks.data(), tree.subtree_size() * block_bytes, tree.parent()));
  }
  Window window(channel);
  for (int bit = tree.top_bit(); bit > 0; bit /= 2) {
    if (!tree.has_child(bit)) continue;
    HEARTH_TRY(window.send(blocks.data() + bit * block_bytes, tree.child_size(bit) * block_bytes, byte_type(),
                           tree.child(bit)));
  }
  if (tree.is_root()) {
    HEARTH_TRY(buffers.keep_own(root));
  } else {
    datatype::unpack(buffers.receive_type, buffers.receive, buffers.receive_count, 0, blocks.data(),
                     static_cast<size_t>(block_bytes));
  }
  return window.finish();
}

Status linear(const ScatterBuffers& buffers, int64_t, int root, const Channel& channel) {
  if (channel.rank() != root) {
    return channel.receive(buffers.receive, buffers.receive_count, buffers.receive_type, root);
  }
  Window window(channel);
  for (int distance = 1; distance < channel.size(); ++distance) {
    const int rank = channel.neighbor(distance);
    HEARTH_TRY(window.send(buffers.block_of(rank), buffers.send_count, buffers.send_type, rank));
  }
  HEARTH_TRY(buffers.keep_own(root));
  return window.finish();
}

#define HEARTH_SCATTER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<ScatterFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status scatter(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
               Type& receive_type, int root, Comm& comm) {
  const ScatterBuffers buffers{send, send_count, send_type, receive, receive_count, receive_type};
  const int64_t block_bytes =
      comm.rank == root ? send_count * send_type.size : receive_count * receive_type.size;
  const Shape shape{.size = comm.size, .bytes = block_bytes};
  if (block_bytes == 0) return {};
  return select(Collective::scatter, kAlgorithms, shape)(buffers, block_bytes, root,
                                                         Channel(comm, Tag::scatter));
}

Status scatterv(const void* send, CountArray send_counts, CountArray displacements, Type& send_type,
                void* receive, Count receive_count, Type& receive_type, int root, Comm& comm) {
  const Channel channel(comm, Tag::scatterv);
  if (channel.rank() != root) {
    if (receive_count == 0 || receive_type.size == 0) return {};
    return channel.receive(receive, receive_count, receive_type, root);
  }
  Window window(channel);
  for (int distance = 1; distance < channel.size(); ++distance) {
    const int rank = channel.neighbor(distance);
    if (send_counts[rank] == 0 || send_type.size == 0) continue;
    HEARTH_TRY(
        window.send(advance(send, send_type, displacements[rank]), send_counts[rank], send_type, rank));
  }
  if (receive != MPI_IN_PLACE) {
    HEARTH_TRY(datatype::copy(advance(send, send_type, displacements[root]), send_counts[root], send_type,
                              receive, receive_count, receive_type));
  }
  return window.finish();
}

}  // namespace hearth::coll
