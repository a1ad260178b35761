#include <algorithm>

#include "coll/blocks.h"
#include "coll/coll.h"
#include "coll/ring.h"
#include "coll/select.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// This rank's block lies in its place already.
using AllgatherFunction = Status(Schedule& schedule, const RankBlocks& blocks);

// Each rank collects, packed, the blocks of 1, 2, 4, ... ranks after it.
Status bruck(Schedule& schedule, const RankBlocks& blocks) {
  const int size = schedule.size();
  const int own = schedule.rank();
  const int64_t block_bytes = blocks.bytes(own);
  std::byte* packed;
  HEARTH_TRY(schedule.scratch(size * block_bytes, packed));
  schedule.pack(blocks.place(own), blocks.count(own), blocks.type(own), packed);
  for (int have = 1; have < size; have *= 2) {
    const int64_t bytes = std::min(have, size - have) * block_bytes;
    schedule.receive_bytes(packed + have * block_bytes, bytes, schedule.neighbor(have));
    schedule.send_bytes(packed, bytes, schedule.neighbor(-have));
    schedule.next_round();
  }
  for (int distance = 1; distance < size; ++distance) {
    const int rank = schedule.neighbor(distance);
    schedule.unpack(packed + distance * block_bytes, blocks.place(rank), blocks.count(rank),
                    blocks.type(rank));
  }
  return {};
}

Status ring(Schedule& schedule, const RankBlocks& blocks) {
  go_around(
      schedule, schedule.rank(), [&](int rank) { return blocks.place(rank); },
      [&](int rank) { return blocks.count(rank); }, blocks.type(0));
  return {};
}

#define HEARTH_ALLGATHER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<AllgatherFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

void keep_own(Schedule& schedule, const void* send, Count send_count, Type& send_type,
              const RankBlocks& blocks) {
  if (send == MPI_IN_PLACE) return;
  const int own = schedule.rank();
  schedule.copy(send, send_count, send_type, blocks.place(own), blocks.count(own), blocks.type(own));
}

}  // namespace

Status allgather(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                 Count receive_count, Type& receive_type) {
  const Shape shape{.size = schedule.size(), .bytes = receive_count * receive_type.size};
  if (shape.bytes == 0) return {};
  const RankBlocks blocks(receive, receive_count, receive_type);
  keep_own(schedule, send, send_count, send_type, blocks);
  return select(Collective::allgather, kAlgorithms, shape)(schedule, blocks);
}

Status allgatherv(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                  CountArray receive_counts, CountArray displacements, Type& receive_type) {
  const RankBlocks blocks(receive, receive_counts, displacements, receive_type);
  keep_own(schedule, send, send_count, send_type, blocks);
  return ring(schedule, blocks);
}

}  // namespace hearth::coll
