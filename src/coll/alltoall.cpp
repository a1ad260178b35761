#include <algorithm>
#include <cstring>

#include "coll/blocks.h"
#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "coll/select.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// What goes to one rank or comes from it.
struct Part {
  std::byte* place;
  Count count;
  Type* type;
};

/// `out(rank)` and `in(rank)` are Parts. In each round every rank sends to one rank and receives from one.
template <class Out, class In>
Status exchange_all(Out out, In in, const Channel& channel) {
  const Part own_out = out(channel.rank());
  const Part own_in = in(channel.rank());
  HEARTH_TRY(
      datatype::copy(own_out.place, own_out.count, *own_out.type, own_in.place, own_in.count, *own_in.type));
  for (int distance = 1; distance < channel.size(); ++distance) {
    const int to = channel.neighbor(distance);
    const int from = channel.neighbor(-distance);
    const Part leaving = out(to);
    const Part coming = in(from);
    HEARTH_TRY(channel.exchange(leaving.place, leaving.count, *leaving.type, to, coming.place, coming.count,
                                *coming.type, from));
  }
  return {};
}

/// Parts are replaced by what comes. In the round of `sum` the ranks whose numbers add up to it, around the
/// circle, swap theirs.
template <class Parts>
Status exchange_in_place(Parts part_of, const Channel& channel) {
  int64_t bytes_max = 0;
  for (int rank = 0; rank < channel.size(); ++rank) {
    const Part part = part_of(rank);
    if (rank != channel.rank()) bytes_max = std::max(bytes_max, part.count * part.type->size);
  }
  Scratch leaving;
  HEARTH_TRY(leaving.reserve(bytes_max));
  for (int sum = 0; sum < channel.size(); ++sum) {
    const int partner = (sum - channel.rank() + channel.size()) % channel.size();
    if (partner == channel.rank()) continue;
    const Part part = part_of(partner);
    const int64_t bytes = part.count * part.type->size;
    datatype::pack(*part.type, part.place, part.count, 0, leaving.data(), static_cast<size_t>(bytes));
    HEARTH_TRY(channel.exchange(leaving.data(), bytes, byte_type(), partner, part.place, part.count,
                                *part.type, partner));
  }
  return {};
}

using AlltoallFunction = Status(const void* send, Count send_count, Type& send_type, void* receive,
                                Count receive_count, Type& receive_type, const Channel& channel);

// Blocks travel packed, through other ranks: one whose way is d ranks long goes 2^k ranks in round k if bit k
// of d is set. So there are log2(ranks) messages instead of one to each rank.
Status bruck(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
             Type& receive_type, const Channel& channel) {
  const int64_t block_bytes = send_count * send_type.size;
  if (block_bytes != receive_count * receive_type.size) {
    return fail(MPI_ERR_TRUNCATE, "each rank is sent %lld bytes, but %lld are received from each",
                static_cast<long long>(block_bytes),
                static_cast<long long>(receive_count * receive_type.size));
  }
  const auto block = static_cast<size_t>(block_bytes);
  const int size = channel.size();
  // By the length of the way: what is to go there, later what has come.
  Scratch blocks;
  Scratch outgoing;
  Scratch incoming;
  HEARTH_TRY(blocks.reserve(size * block_bytes));
  HEARTH_TRY(outgoing.reserve((size + 1) / 2 * block_bytes));
  HEARTH_TRY(incoming.reserve((size + 1) / 2 * block_bytes));
  for (int way = 0; way < size; ++way) {
    datatype::pack(send_type, advance(send, send_type, send_count * channel.neighbor(way)), send_count, 0,
                   blocks.data() + way * block_bytes, block);
  }
  for (int bit = 1; bit < size; bit *= 2) {
    int64_t bytes = 0;
    for (int way = bit; way < size; ++way) {
      if ((way & bit) == 0) continue;
      std::memcpy(outgoing.data() + bytes, blocks.data() + way * block_bytes, block);
      bytes += block_bytes;
    }
    HEARTH_TRY(channel.exchange_bytes(outgoing.data(), bytes, channel.neighbor(bit), incoming.data(), bytes,
                                      channel.neighbor(-bit)));
    bytes = 0;
    for (int way = bit; way < size; ++way) {
      if ((way & bit) == 0) continue;
      std::memcpy(blocks.data() + way * block_bytes, incoming.data() + bytes, block);
      bytes += block_bytes;
    }
  }
  for (int way = 0; way < size; ++way) {
    datatype::unpack(receive_type, advance(receive, receive_type, receive_count * channel.neighbor(-way)),
                     receive_count, 0, blocks.data() + way * block_bytes, block);
  }
  return {};
}

Status pairwise(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                Type& receive_type, const Channel& channel) {
  auto* from = const_cast<void*>(send);
  return exchange_all(
      [&](int rank) {
        return Part{advance(from, send_type, send_count * rank), send_count, &send_type};
      },
      [&](int rank) {
        return Part{advance(receive, receive_type, receive_count * rank), receive_count, &receive_type};
      },
      channel);
}

#define HEARTH_ALLTOALL(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<AlltoallFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status alltoall(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                Type& receive_type, Comm& comm) {
  const Channel channel(comm, Tag::alltoall);
  const Shape shape{.size = comm.size, .bytes = receive_count * receive_type.size};
  if (shape.bytes == 0) return {};
  if (send == MPI_IN_PLACE) {
    return exchange_in_place(
        [&](int rank) {
          return Part{advance(receive, receive_type, receive_count * rank), receive_count, &receive_type};
        },
        channel);
  }
  return select(Collective::alltoall, kAlgorithms, shape)(send, send_count, send_type, receive, receive_count,
                                                          receive_type, channel);
}

Status alltoallv(const void* send, CountArray send_counts, CountArray send_displacements, Type& send_type,
                 void* receive, CountArray receive_counts, CountArray receive_displacements,
                 Type& receive_type, Comm& comm) {
  const Channel channel(comm, Tag::alltoallv);
  const auto in = [&](int rank) {
    return Part{advance(receive, receive_type, receive_displacements[rank]), receive_counts[rank],
                &receive_type};
  };
  if (send == MPI_IN_PLACE) return exchange_in_place(in, channel);
  auto* from = const_cast<void*>(send);
  const auto out = [&](int rank) {
    return Part{advance(from, send_type, send_displacements[rank]), send_counts[rank], &send_type};
  };
  return exchange_all(out, in, channel);
}

Status alltoallw(const void* send, CountArray send_counts, CountArray send_displacements,
                 Type* const* send_types, void* receive, CountArray receive_counts,
                 CountArray receive_displacements, Type* const* receive_types, Comm& comm) {
  const Channel channel(comm, Tag::alltoallv);
  auto* to = static_cast<std::byte*>(receive);
  const auto in = [&](int rank) {
    return Part{to + receive_displacements[rank], receive_counts[rank], receive_types[rank]};
  };
  if (send == MPI_IN_PLACE) return exchange_in_place(in, channel);
  auto* from = static_cast<std::byte*>(const_cast<void*>(send));
  const auto out = [&](int rank) {
    return Part{from + send_displacements[rank], send_counts[rank], send_types[rank]};
  };
  return exchange_all(out, in, channel);
}

}  // namespace hearth::coll
