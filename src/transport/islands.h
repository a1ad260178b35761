// The transport of a process whose job may be connected to other jobs (MPI_Comm_spawn, MPI_Comm_accept): the
// job's own transport, and one shared-memory transport for each bridge, the segment that connects processes
// of several jobs. The route to a process is fixed while it is known, so its packets stay in order.
//
//   peer < size of the job    the home transport: shared memory, or the router to other machines
//   any other peer            the bridge that route() has set
//
// Buffer transfers belong to the home transport, and so do bounce buffers: those of a process are in the
// segment of its job, which the processes of connected jobs map. A process in several segments sleeps on its
// wake-up words in all of them at once.
//
// Under the library's lock, except for sleep().
#pragma once

#include <memory>
#include <vector>

#include "shm/node.h"
#include "transport/local_path.h"
#include "transport/shm_transport.h"
#include "transport/transport.h"

namespace hearth::transport {

class Islands final : public Transport, private BufferTransfers, private LocalPath {
 public:
  /// `home_size`: the number of processes that the home transport reaches. Pre: the node, that of the home
  /// segment, outlives it.
  Islands(std::unique_ptr<Transport> home, PeerIndex home_size, const shm::Node& node)
      : home_(std::move(home)),
        home_size_(home_size),
        node_(node),
        home_path_(home_->local_path()),
        words_{&node.block().asleep} {
    slept_on_.reserve(kBridgesReserved + 1);
    polled_ = home_.get();
  }

  /// Adds a bridge, for the processes that route() names. Pre: the node outlives it.
  ShmTransport& add_bridge(const shm::Node& node);
  /// Pre: no process is routed over it.
  void remove_bridge(const ShmTransport& bridge);
  /// Sets the route to a process of another job; nullptr: there is none any more.
  void route(PeerIndex peer, ShmTransport* bridge);

  const char* name() const override { return home_->name(); }
  size_t packet_bytes_max() const override { return home_->packet_bytes_max(); }
  Limits limits_to(PeerIndex to) override;
  std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) override {
    return this->to(to).claim(to, payload_bytes, status);
  }
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override {
    this->to(to).commit(to, kind, flags, payload_bytes, cookie, match);
  }
  int poll(PacketHandler handler, void* receiver) override;
  void shuffle() override;
  bool quiet() const override { return home_->quiet(); }
  uint32_t unexpected_kib_at(PeerIndex to) override { return this->to(to).unexpected_kib_at(to); }
  void add_unexpected_bytes(PeerIndex from, int64_t bytes) override {
    to(from).add_unexpected_bytes(from, bytes);
  }

  void watch(PeerIndex peer) override { to(peer).watch(peer); }
  bool is_gone(PeerIndex peer) override { return to(peer).is_gone(peer); }

  uint64_t prepare_sleep() override;
  void sleep(uint64_t timeout_ns) override;
  void end_sleep(bool slept) override;
  void wake_own() override { home_->wake_own(); }

  BounceBuffers& bounce_buffers() override { return home_->bounce_buffers(); }
  BufferTransfers& buffer_transfers() override { return *this; }
  LocalPath& local_path() override { return *this; }

 private:
  // Reserved in advance, so that sleeping needs no memory with up to this number of bridges.
  static constexpr size_t kBridgesReserved = 15;

  /// A bridge, and the process's wake-up word in its segment.
  struct Bridge {
    std::unique_ptr<ShmTransport> transport;
    uint32_t* word;
  };

  // BufferTransfers.
  bool reaches(PeerIndex to) const override { return is_home(to) && home_->buffer_transfers().reaches(to); }
  bool await(PeerIndex from, uint32_t number, std::byte* buffer, size_t bytes,
             const PacketHeader& over) override {
    return is_home(from) && home_->buffer_transfers().await(from, number, buffer, bytes, over);
  }
  bool send(PeerIndex to, uint32_t number, const std::byte* buffer, size_t bytes,
            const PacketHeader& over) override {
    return is_home(to) && home_->buffer_transfers().send(to, number, buffer, bytes, over);
  }

  // LocalPath.
  shm::RingWriter* direct_ring_to(PeerIndex to) override;
  shm::RingReader* direct_ring_from(PeerIndex from) override;
  bool prefetch_room(PeerIndex to, size_t payload_bytes) override;
  bool prefetch_buffer(size_t bytes_ahead) override { return home_path_.prefetch_buffer(bytes_ahead); }
  bool target_of(PeerIndex peer, single_copy::Target& target) override;

  bool is_home(PeerIndex peer) const { return peer < home_size_; }
  Transport& to(PeerIndex peer) {
    return __builtin_expect(is_home(peer), 1) ? *home_ : static_cast<Transport&>(*bridge_to(peer));
  }
  ShmTransport* bridge_to(PeerIndex peer) const { return routes_[static_cast<size_t>(peer - home_size_)]; }
  /// nullptr if there is no route.
  LocalPath* path_to(PeerIndex peer);

  const std::unique_ptr<Transport> home_;
  const PeerIndex home_size_;
  const shm::Node& node_;
  LocalPath& home_path_;
  std::vector<Bridge> bridges_;
  std::vector<ShmTransport*> routes_;  // by peer - home_size_
  std::vector<uint32_t*> words_;       // the wake-up words of this process: home, then the bridges
  std::vector<uint32_t*> slept_on_;    // those of the current sleep, which other threads do not change
};

}  // namespace hearth::transport
