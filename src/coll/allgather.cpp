#include <algorithm>

#include "coll/blocks.h"
#include "coll/channel.h"
#include "coll/coll.h"
#include "coll/scratch.h"
#include "coll/select.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

/// This rank's block lies in its place already.
using AllgatherFunction = Status(void* receive, Count count, Type& type, const Channel& channel);

// Each rank collects, packed, the blocks of 1, 2, 4, ... ranks after it.
Status bruck(void* receive, Count count, Type& type, const Channel& channel) {
  const int64_t block_bytes = count * type.size;
  const auto place_of = [&](int rank) { return advance(receive, type, count * rank); };
  Scratch blocks;
  HEARTH_TRY(blocks.reserve(channel.size() * block_bytes));
  datatype::pack(type, place_of(channel.rank()), count, 0, blocks.data(), static_cast<size_t>(block_bytes));
  for (int have = 1; have < channel.size(); have *= 2) {
    const int64_t bytes = std::min(have, channel.size() - have) * block_bytes;
    HEARTH_TRY(channel.exchange_bytes(blocks.data(), bytes, channel.neighbor(-have),
                                      blocks.data() + have * block_bytes, bytes, channel.neighbor(have)));
  }
  for (int distance = 1; distance < channel.size(); ++distance) {
    datatype::unpack(type, place_of(channel.neighbor(distance)), count, 0,
                     blocks.data() + distance * block_bytes, static_cast<size_t>(block_bytes));
  }
  return {};
}

/// Every block goes around; `place_of(rank)` and `count_of(rank)` say where it lies and how long it is.
template <class PlaceOf, class CountOf>
Status go_around(PlaceOf place_of, CountOf count_of, Type& type, const Channel& channel) {
  for (int step = 0; step < channel.size() - 1; ++step) {
    const int leaving = channel.neighbor(-step);
    const int coming = channel.neighbor(-step - 1);
    HEARTH_TRY(channel.exchange(place_of(leaving), count_of(leaving), type, channel.neighbor(1),
                                place_of(coming), count_of(coming), type, channel.neighbor(-1)));
  }
  return {};
}

Status ring(void* receive, Count count, Type& type, const Channel& channel) {
  return go_around([&](int rank) { return advance(receive, type, count * rank); }, [&](int) { return count; },
                   type, channel);
}

#define HEARTH_ALLGATHER(name, right, preferred) HEARTH_COLL_ROW(name, right, preferred),
constexpr Algorithm<AllgatherFunction> kAlgorithms[] = {
#include "coll/algorithms.def"
};

}  // namespace

Status allgather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                 Type& receive_type, Comm& comm) {
  const Shape shape{.size = comm.size, .bytes = receive_count * receive_type.size};
  if (shape.bytes == 0) return {};
  if (send != MPI_IN_PLACE) {
    HEARTH_TRY(datatype::copy(send, send_count, send_type,
                              advance(receive, receive_type, receive_count * comm.rank), receive_count,
                              receive_type));
  }
  return select(Collective::allgather, kAlgorithms, shape)(receive, receive_count, receive_type,
                                                           Channel(comm, Tag::allgather));
}

Status allgatherv(const void* send, Count send_count, Type& send_type, void* receive,
                  CountArray receive_counts, CountArray displacements, Type& receive_type, Comm& comm) {
  const auto place_of = [&](int rank) { return advance(receive, receive_type, displacements[rank]); };
  const auto count_of = [&](int rank) { return receive_counts[rank]; };
  if (send != MPI_IN_PLACE) {
    HEARTH_TRY(
        datatype::copy(send, send_count, send_type, place_of(comm.rank), count_of(comm.rank), receive_type));
  }
  return go_around(place_of, count_of, receive_type, Channel(comm, Tag::allgatherv));
}

}  // namespace hearth::coll
