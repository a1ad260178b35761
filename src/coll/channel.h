// Messages of one collective operation: between ranks of a communicator, in the context that it keeps for
// collectives, under the collective's tag. Two collectives of one communicator never overtake each other
// between two ranks, so a fixed tag for each is enough; within one, a pair of ranks agrees on the order of
// its messages.
//
// Used by the algorithms of this folder, under the library's lock.
#pragma once

#include <array>
#include <cstdint>

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"
#include "objects/comm.h"
#include "objects/group.h"
#include "p2p/engine.h"

namespace hearth::coll {

/// Below all tags of users, because MPI_Comm_create_group sends in the same context under the tag that the
/// user gave it.
enum class Tag : int {
  allgather = -1000,
  allgatherv,
  allreduce,
  alltoall,
  alltoallv,
  barrier,
  bcast,
  exscan,
  gather,
  gatherv,
  reduce,
  reduce_scatter,
  scan,
  scatter,
  scatterv,
};

/// MPI_BYTE: packed data travel as bytes.
datatype::Type& byte_type();

class Channel {
 public:
  Channel(const objects::Comm& comm, Tag tag)
      : peers_(comm.peers),
        rank_(comm.rank),
        size_(comm.size),
        context_(comm.context + 1),
        tag_(static_cast<int>(tag)) {}
  /// Among the processes of a group; `tag` is not negative.
  Channel(const objects::Group& group, const objects::Comm& comm, int tag)
      : peers_(group.peers.data()),
        rank_(group.rank),
        size_(group.size()),
        context_(comm.context + 1),
        tag_(tag) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The rank `distance` after or, if negative, before this one, around the circle.
  int neighbor(int distance) const { return (rank_ + distance % size_ + size_) % size_; }

  Status send(const void* buffer, Count count, const datatype::Type& type, int to) const {
    return p2p::engine().send(buffer, count, type, peers_[to], tag_, context_);
  }
  Status receive(void* buffer, Count count, const datatype::Type& type, int from) const {
    return p2p::engine().receive(buffer, count, type, peers_[from], tag_, context_);
  }
  Status send_bytes(const void* buffer, int64_t bytes, int to) const {
    return send(buffer, bytes, byte_type(), to);
  }
  Status receive_bytes(void* buffer, int64_t bytes, int from) const {
    return receive(buffer, bytes, byte_type(), from);
  }
  Status start_send(const void* buffer, Count count, datatype::Type& type, int to,
                    p2p::Request*& request) const {
    return p2p::engine().isend(buffer, count, type, peers_[to], tag_, context_, request);
  }
  Status start_receive(void* buffer, Count count, datatype::Type& type, int from,
                       p2p::Request*& request) const {
    return p2p::engine().ireceive(buffer, count, type, peers_[from], tag_, context_, request);
  }

  /// Sends and receives at once. A half without data is left out, on both sides of it.
  Status exchange(const void* out, Count out_count, const datatype::Type& out_type, int to, void* in,
                  Count in_count, datatype::Type& in_type, int from) const;
  Status exchange_bytes(const void* out, int64_t out_bytes, int to, void* in, int64_t in_bytes,
                        int from) const {
    return exchange(out, out_bytes, byte_type(), to, in, in_bytes, byte_type(), from);
  }
  /// An empty message each way.
  Status signal(int to, int from) const;

 private:
  Status send_and_receive(const void* out, Count out_count, const datatype::Type& out_type, int to, void* in,
                          Count in_count, datatype::Type& in_type, int from) const;

  const objects::PeerIndex* peers_;
  int rank_;
  int size_;
  uint32_t context_;
  int tag_;
};

/// Sends and receives under way, a few at a time. None is left when it goes out of scope.
class Window {
 public:
  explicit Window(const Channel& channel) : channel_(channel) {}
  ~Window() { static_cast<void>(finish()); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  Status send(const void* buffer, Count count, datatype::Type& type, int to);
  Status receive(void* buffer, Count count, datatype::Type& type, int from);
  /// Waits for all; the first error.
  Status finish();

 private:
  static constexpr size_t kRequestsMax = 32;

  Status make_room();

  const Channel& channel_;
  size_t used_ = 0;
  std::array<p2p::Request*, kRequestsMax> requests_;
};

}  // namespace hearth::coll
