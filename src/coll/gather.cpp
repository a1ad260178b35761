#include "coll/blocks.h"
#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "coll/select.h"
#include "coll/tree.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// A rank's own block, and at the root the place for everybody's. In place: the root's own is there already.
struct GatherBuffers {
  const void* send;
  Count send_count;
  Type& send_type;
  void* receive;
  Count receive_count;
  Type& receive_type;

  std::byte* place_of(int rank) const { return advance(receive, receive_type, receive_count * rank); }
  Status keep_own(int rank) const {
    if (send == MPI_IN_PLACE) return {};
    return datatype::copy(send, send_count, send_type, place_of(rank), receive_count, receive_type);
  }
};

using GatherFunction = Status(const GatherBuffers& buffers, int64_t block_bytes, int root,
                              const Channel& channel);

// Up a tree, packed: the root gets log2(ranks) messages.
Status binomial(const GatherBuffers& buffers, int64_t block_bytes, int root, const Channel& channel) {
  const Tree tree(channel.rank(), channel.size(), root);
  if (!tree.is_root() && tree.is_leaf()) {
    return channel.send(buffers.send, buffers.send_count, buffers.send_type, tree.parent());
  }
  Scratch blocks;
  HEARTH_TRY(blocks.reserve(tree.subtree_size() * block_bytes));
  for (int bit = 1; bit <= tree.top_bit() && tree.has_child(bit); bit *= 2) {
    HEARTH_TRY(channel.receive_bytes(blocks.data() + bit * block_bytes, tree.child_size(bit) * block_bytes,
                                     tree.child(bit)));
  }
  if (!tree.is_root()) {
    datatype::pack(buffers.send_type, buffers.send, buffers.send_count, 0, blocks.data(),
                   static_cast<size_t>(block_bytes));
    return channel.send_bytes(blocks.data(), tree.subtree_size() * block_bytes, tree.parent());
  }
  HEARTH_TRY(buffers.keep_own(root));
  for (int place = 1; place < channel.size(); ++place) {
    datatype::unpack(buffers.receive_type, buffers.place_of(tree.rank_after(place)), buffers.receive_count, 0,
                     blocks.data() + place * block_bytes, static_cast<size_t>(block_bytes));
  }
  return {};
}

Status linear(const GatherBuffers& buffers, int64_t, int root, const Channel& channel) {
  if (channel.rank() != root) return channel.send(buffers.send, buffers.send_count, buffers.send_type, root);
  Window window(channel);
  for (int distance = 1; distance < channel.size(); ++distance) {
    const int rank = channel.neighbor(distance);
    HEARTH_TRY(window.receive(buffers.place_of(rank), buffers.receive_count, buffers.receive_type, rank));
  }
  HEARTH_TRY(buffers.keep_own(root));
  return window.finish();
}

#define HEARTH_GATHER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<GatherFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status gather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
              Type& receive_type, int root, Comm& comm) {
  const GatherBuffers buffers{send, send_count, send_type, receive, receive_count, receive_type};
  const int64_t block_bytes =
      comm.rank == root ? receive_count * receive_type.size : send_count * send_type.size;
  const Shape shape{.size = comm.size, .bytes = block_bytes};
  if (block_bytes == 0) return {};
  return select(Collective::gather, kAlgorithms, shape)(buffers, block_bytes, root,
                                                        Channel(comm, Tag::gather));
}

Status gatherv(const void* send, Count send_count, Type& send_type, void* receive, CountArray receive_counts,
               CountArray displacements, Type& receive_type, int root, Comm& comm) {
  const Channel channel(comm, Tag::gatherv);
  if (channel.rank() != root) {
    if (send_count == 0 || send_type.size == 0) return {};
    return channel.send(send, send_count, send_type, root);
  }
  Window window(channel);
  for (int distance = 1; distance < channel.size(); ++distance) {
    const int rank = channel.neighbor(distance);
    if (receive_counts[rank] == 0 || receive_type.size == 0) continue;
    HEARTH_TRY(window.receive(advance(receive, receive_type, displacements[rank]), receive_counts[rank],
                              receive_type, rank));
  }
  if (send != MPI_IN_PLACE) {
    HEARTH_TRY(datatype::copy(send, send_count, send_type,
                              advance(receive, receive_type, displacements[root]), receive_counts[root],
                              receive_type));
  }
  return window.finish();
}

}  // namespace hearth::coll
