#include <algorithm>

#include "coll/blocks.h"
#include "coll/chunks.h"
#include "coll/coll.h"
#include "coll/inter.h"
#include "coll/lines.h"
#include "coll/select.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

using AlltoallFunction = Status(Schedule& schedule, const RankBlocks& out, const RankBlocks& in);

/// Of a call in place the blocks that come are those that go.
Status lines(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  const void* send = out.place(0) == in.place(0) ? MPI_IN_PLACE : out.place(0);
  return meet_in_lines(schedule, [&](Lines& meeting) {
    meeting.alltoall(send, out.count(0), out.type(0), in.place(0), in.count(0), in.type(0));
    return Status();
  });
}

/// Likewise.
Status chunks(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  return move_through_chunks(schedule, [&](ChunkMoves& moves) {
    moves.alltoall(schedule, out, in);
    return Status();
  });
}

// In each round every rank sends to one rank and receives from one.
Status pairwise(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  const int own = schedule.rank();
  schedule.copy(out.place(own), out.count(own), out.type(own), in.place(own), in.count(own), in.type(own));
  for (int distance = 1; distance < schedule.size(); ++distance) {
    const int to = schedule.neighbor(distance);
    const int from = schedule.neighbor(-distance);
    schedule.next_round();
    schedule.receive(in.place(from), in.count(from), in.type(from), from);
    schedule.send(out.place(to), out.count(to), out.type(to), to);
  }
  return {};
}

// Blocks are replaced by what comes. In the round of `sum` the ranks whose numbers add up to it, around the
// circle, swap theirs.
Status swap_in_place(Schedule& schedule, const RankBlocks& blocks) {
  const int size = schedule.size();
  const int own = schedule.rank();
  int64_t bytes_max = 0;
  for (int rank = 0; rank < size; ++rank) {
    if (rank != own) bytes_max = std::max(bytes_max, blocks.bytes(rank));
  }
  std::byte* leaving;
  HEARTH_TRY(schedule.scratch(bytes_max, leaving));
  for (int sum = 0; sum < size; ++sum) {
    const int partner = (sum - own + size) % size;
    if (partner == own) continue;
    std::byte* block = blocks.place(partner);
    schedule.next_round();
    schedule.pack(block, blocks.count(partner), blocks.type(partner), leaving);
    schedule.receive(block, blocks.count(partner), blocks.type(partner), partner);
    schedule.send_bytes(leaving, blocks.bytes(partner), partner);
  }
  return {};
}

// Blocks travel packed, through other ranks: one whose way is d ranks long goes 2^k ranks in round k if bit k
// of d is set. So there are log2(ranks) messages instead of one to each rank.
Status bruck(Schedule& schedule, const RankBlocks& out, const RankBlocks& in) {
  const int64_t block_bytes = out.bytes(0);
  if (block_bytes != in.bytes(0)) {
    return fail(MPI_ERR_TRUNCATE, "each rank is sent %lld bytes, but %lld are received from each",
                static_cast<long long>(block_bytes), static_cast<long long>(in.bytes(0)));
  }
  const int size = schedule.size();
  // By the length of the way: what is to go there, later what has come.
  std::byte* blocks;
  std::byte* outgoing;
  std::byte* incoming;
  HEARTH_TRY(schedule.scratch(size * block_bytes, blocks));
  HEARTH_TRY(schedule.scratch((size + 1) / 2 * block_bytes, outgoing));
  HEARTH_TRY(schedule.scratch((size + 1) / 2 * block_bytes, incoming));
  for (int way = 0; way < size; ++way) {
    const int rank = schedule.neighbor(way);
    schedule.pack(out.place(rank), out.count(rank), out.type(rank), blocks + way * block_bytes);
  }
  for (int bit = 1; bit < size; bit *= 2) {
    int64_t bytes = 0;
    for (int way = bit; way < size; ++way) {
      if ((way & bit) == 0) continue;
      schedule.copy_bytes(blocks + way * block_bytes, outgoing + bytes, block_bytes);
      bytes += block_bytes;
    }
    schedule.receive_bytes(incoming, bytes, schedule.neighbor(-bit));
    schedule.send_bytes(outgoing, bytes, schedule.neighbor(bit));
    schedule.next_round();
    bytes = 0;
    for (int way = bit; way < size; ++way) {
      if ((way & bit) == 0) continue;
      schedule.copy_bytes(incoming + bytes, blocks + way * block_bytes, block_bytes);
      bytes += block_bytes;
    }
  }
  for (int way = 0; way < size; ++way) {
    const int rank = schedule.neighbor(-way);
    schedule.unpack(blocks + way * block_bytes, in.place(rank), in.count(rank), in.type(rank));
  }
  return {};
}

#define HEARTH_ALLTOALL(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<AlltoallFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

/// Blocks of any lengths.
Status exchange(Schedule& schedule, const void* send, const RankBlocks& out, const RankBlocks& in) {
  if (schedule.is_inter()) {
    HEARTH_TRY(inter::check_buffer(send));
    return inter::alltoall(schedule, out, in);
  }
  if (send == MPI_IN_PLACE) return swap_in_place(schedule, in);
  return pairwise(schedule, out, in);
}

}  // namespace

Status alltoall(Schedule& schedule, const void* send, Count send_count, Type& send_type, void* receive,
                Count receive_count, Type& receive_type) {
  const RankBlocks out(send, send_count, send_type);
  const RankBlocks in(receive, receive_count, receive_type);
  if (schedule.is_inter()) return exchange(schedule, send, out, in);
  const int64_t bytes = receive_count * receive_type.size;
  const Shape shape{.size = schedule.size(),
                    .bytes = bytes,
                    .chunks = has_chunks(schedule),
                    .lines = fits_lines(schedule.area(), Collective::alltoall, schedule.size() * bytes),
                    .context = schedule.context()};
  if (shape.bytes == 0) return {};
  AlltoallFunction* algorithm = select(Collective::alltoall, kAlgorithms, shape);
  if (send != MPI_IN_PLACE) return algorithm(schedule, out, in);
  if (algorithm == lines || algorithm == chunks) return algorithm(schedule, in, in);
  return swap_in_place(schedule, in);
}

Status alltoallv(Schedule& schedule, const void* send, CountArray send_counts, CountArray send_displacements,
                 Type& send_type, void* receive, CountArray receive_counts, CountArray receive_displacements,
                 Type& receive_type) {
  return exchange(schedule, send, RankBlocks(send, send_counts, send_displacements, send_type),
                  RankBlocks(receive, receive_counts, receive_displacements, receive_type));
}

Status alltoallw(Schedule& schedule, const void* send, CountArray send_counts, CountArray send_displacements,
                 Type* const* send_types, void* receive, CountArray receive_counts,
                 CountArray receive_displacements, Type* const* receive_types) {
  return exchange(schedule, send, RankBlocks(send, send_counts, send_displacements, send_types),
                  RankBlocks(receive, receive_counts, receive_displacements, receive_types));
}

}  // namespace hearth::coll
