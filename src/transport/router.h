// A router in front of two transports: shared memory for the processes of this machine, a network for all
// others. Created only if a job spans several machines. The transport of a pair is fixed, so that its packets
// stay in order. The direct rings of the local transport are passed through, so short messages on this
// machine have no extra cost.
//
// A poll of the network is a system call or nearly so, and costs a hundred times as much as a poll of a ring.
// After a packet to or from the network, every poll includes the network; while it is idle, ever fewer do. A
// sleeping process wakes for packets of this machine at once, and polls the network between sleeps that are
// short at first and grow as long as nothing arrives.
//
// The local transport numbers processes by their local ranks. Under the library's lock.
#pragma once

#include <memory>
#include <vector>

#include "transport/network.h"
#include "transport/shm_transport.h"

namespace hearth::transport {

class Router final : public Transport, private BounceBuffers, private BufferTransfers, private LocalPath {
 public:
  /// `places`: the local rank of each process of the job, -1 if it is on another machine.
  Router(std::unique_ptr<ShmTransport> near, std::unique_ptr<Network> far, std::vector<int> places);

  Network& network() { return *far_; }

  const char* name() const override { return "shm and fabric"; }
  size_t packet_bytes_max() const override;
  Limits limits_to(PeerIndex to) override;
  std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) override;
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override;
  int poll(PacketHandler handler, void* receiver) override;
  void shuffle() override { near_->shuffle(); }
  bool quiet() const override { return far_->quiet(); }
  uint32_t unexpected_kib_at(PeerIndex to) override;
  void add_unexpected_bytes(PeerIndex from, int64_t bytes) override;

  void watch(PeerIndex peer) override {
    if (!is_near(peer)) far_->watch(peer);
  }
  bool is_gone(PeerIndex peer) override;

  uint64_t prepare_sleep() override;
  void sleep(uint64_t timeout_ns) override { near_->sleep(timeout_ns); }
  void end_sleep(bool slept) override;
  void wake_own() override { near_->wake_own(); }

  BounceBuffers& bounce_buffers() override { return *this; }
  BufferTransfers& buffer_transfers() override { return *this; }
  LocalPath& local_path() override { return *this; }

 private:
  struct NearPackets {
    Router* router;
    PacketHandler handler;
    void* receiver;
  };

  bool is_near(PeerIndex peer) const { return places_[static_cast<size_t>(peer)] >= 0; }
  PeerIndex place_of(PeerIndex peer) const { return places_[static_cast<size_t>(peer)]; }
  // BounceBuffers.
  size_t part_bytes_max() const override { return near_buffers_.part_bytes_max(); }
  int take(size_t bytes, bool gap) override { return near_buffers_.take(bytes, gap); }
  uint32_t ticket(PeerIndex owner, int run) override;
  bool returned(PeerIndex owner, int run, uint32_t ticket) override;
  std::byte* memory(PeerIndex owner, int run, size_t bytes) override;
  void release(PeerIndex owner, int run, PeerIndex from) override;

  // BufferTransfers.
  bool reaches(PeerIndex to) const override { return !is_near(to) && far_buffers_.reaches(to); }
  bool await(PeerIndex from, uint32_t number, std::byte* buffer, size_t bytes,
             const PacketHeader& over) override;
  bool send(PeerIndex to, uint32_t number, const std::byte* buffer, size_t bytes,
            const PacketHeader& over) override;

  // LocalPath.
  shm::RingWriter* direct_ring_to(PeerIndex to) override;
  shm::RingReader* direct_ring_from(PeerIndex from) override;
  bool prefetch_room(PeerIndex to, size_t payload_bytes) override;
  bool prefetch_cell(size_t bytes_ahead) override { return near_path_.prefetch_cell(bytes_ahead); }
  bool target_of(PeerIndex peer, single_copy::Target& target) override;

  static void from_near(void* packets, PeerIndex place, const PacketHeader& header, const std::byte* payload);
  int poll_far(PacketHandler handler, void* receiver);
  void expect_far();

  const std::unique_ptr<ShmTransport> near_;
  const std::unique_ptr<Network> far_;
  BounceBuffers& near_buffers_;
  LocalPath& near_path_;
  BufferTransfers& far_buffers_;
  const std::vector<int> places_;
  std::vector<PeerIndex> locals_;  // by local rank
  uint32_t polls_until_far_ = 1;
  uint32_t far_interval_ = 1;  // polls per poll of the network
  uint32_t far_idle_looks_ = 0;
  uint64_t nap_ns_;
};

}  // namespace hearth::transport
