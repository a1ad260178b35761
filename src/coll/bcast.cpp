#include <algorithm>

#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "coll/select.h"
#include "coll/tree.h"

namespace hearth::coll {
namespace {

using BcastFunction = Status(void* buffer, Count count, Type& type, int root, const Channel& channel);

// Each rank that has the data sends to the rank half the remaining distance away.
Status binomial(void* buffer, Count count, Type& type, int root, const Channel& channel) {
  const Tree tree(channel.rank(), channel.size(), root);
  if (!tree.is_root()) HEARTH_TRY(channel.receive(buffer, count, type, tree.parent()));
  Window window(channel);
  for (int bit = tree.top_bit(); bit > 0; bit /= 2) {
    if (tree.has_child(bit)) HEARTH_TRY(window.send(buffer, count, type, tree.child(bit)));
  }
  return window.finish();
}

// From rank to rank, in pieces: while one piece goes on, the next one comes in.
Status chain(void* buffer, Count count, Type& type, int root, const Channel& channel) {
  constexpr int64_t kPieceBytes = 64 * 1024;
  const int64_t bytes = count * type.size;
  const bool first = channel.rank() == root;
  const bool last = channel.neighbor(1) == root;
  Packed packed;
  HEARTH_TRY(first ? packed.from(buffer, count, type) : packed.to(buffer, count, type));
  Window window(channel);
  for (int64_t done = 0; done < bytes; done += kPieceBytes) {
    std::byte* piece = packed.data() + done;
    const int64_t piece_bytes = std::min(kPieceBytes, bytes - done);
    if (!first) HEARTH_TRY(channel.receive_bytes(piece, piece_bytes, channel.neighbor(-1)));
    if (!last) HEARTH_TRY(window.send(piece, piece_bytes, byte_type(), channel.neighbor(1)));
  }
  HEARTH_TRY(window.finish());
  if (!first) packed.unpack();
  return {};
}

#define HEARTH_BCAST(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<BcastFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status bcast(void* buffer, Count count, Type& type, int root, Comm& comm) {
  const Shape shape{.size = comm.size, .bytes = count * type.size};
  if (shape.size == 1 || shape.bytes == 0) return {};
  return select(Collective::bcast, kAlgorithms, shape)(buffer, count, type, root, Channel(comm, Tag::bcast));
}

}  // namespace hearth::coll
