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
// The local transport answers for bounce buffers and the local path, the network for buffer transfers. Under
// the library's lock.
#pragma once

#include <memory>

#include "shm/node.h"
#include "transport/network.h"

namespace hearth::transport {

class Router final : public Transport, private BufferTransfers {
 public:
  /// Pre: node outlives the router. `local` reaches the processes of this machine.
  Router(const shm::Node& node, std::unique_ptr<Transport> local, std::unique_ptr<Network> remote);

  Network& network() { return *remote_; }

  const char* name() const override { return "shm and fabric"; }
  size_t packet_bytes_max() const override;
  Limits limits_to(PeerIndex to) override { return this->to(to).limits_to(to); }
  std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) override {
    return this->to(to).claim(to, payload_bytes, status);
  }
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override;
  int poll(PacketHandler handler, void* receiver) override;
  void shuffle() override { local_->shuffle(); }
  bool quiet() const override { return local_->quiet() && remote_->quiet(); }
  uint32_t unexpected_kib_at(PeerIndex to) override { return this->to(to).unexpected_kib_at(to); }
  void add_unexpected_bytes(PeerIndex from, int64_t bytes) override {
    to(from).add_unexpected_bytes(from, bytes);
  }

  void watch(PeerIndex peer) override { to(peer).watch(peer); }
  bool is_gone(PeerIndex peer) override { return to(peer).is_gone(peer); }

  uint64_t prepare_sleep() override;
  void sleep(uint64_t timeout_ns) override { local_->sleep(timeout_ns); }
  void end_sleep(bool slept) override;
  void wake_own() override { local_->wake_own(); }

  BounceBuffers& bounce_buffers() override { return local_->bounce_buffers(); }
  BufferTransfers& buffer_transfers() override { return *this; }
  LocalPath& local_path() override { return local_->local_path(); }

 private:
  // BufferTransfers.
  bool reaches(PeerIndex to) const override { return !is_local(to) && remote_buffers_.reaches(to); }
  bool await(PeerIndex from, uint32_t number, std::byte* buffer, size_t bytes,
             const PacketHeader& over) override;
  bool send(PeerIndex to, uint32_t number, const std::byte* buffer, size_t bytes,
            const PacketHeader& over) override;

  bool is_local(PeerIndex peer) const { return node_.has(peer); }
  /// The transport to a process.
  Transport& to(PeerIndex peer) const { return is_local(peer) ? *local_ : *remote_; }
  int poll_remote(PacketHandler handler, void* receiver);
  void expect_remote();

  const shm::Node& node_;
  const std::unique_ptr<Transport> local_;
  const std::unique_ptr<Network> remote_;
  BufferTransfers& remote_buffers_;
  uint32_t polls_until_remote_ = 1;
  uint32_t remote_interval_ = 1;  // polls per poll of the network
  uint32_t remote_idle_polls_ = 0;
  uint64_t nap_ns_;
};

}  // namespace hearth::transport
