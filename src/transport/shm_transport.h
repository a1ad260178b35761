// The transport between ranks of one machine: rings and bounce buffers in the shared segment. Processes of
// other machines are never passed to its mandatory functions; its other functions return that they are not
// reached.
//
// The cost of a poll does not depend on the number of ranks: only rings that have been opened are polled, the
// few that were active last on every poll, the others in rotation.
#pragma once

#include <vector>

#include "shm/node.h"
#include "shm/ring.h"
#include "shm/wait.h"
#include "transport/local_path.h"
#include "transport/shm_bounce_buffers.h"
#include "transport/transport.h"

namespace hearth::transport {

class ShmTransport final : public Transport, private LocalPath {
 public:
  /// Pre: node outlives the transport.
  explicit ShmTransport(const shm::Node& node);

  const char* name() const override { return "shm"; }
  size_t packet_bytes_max() const override { return packet_bytes_max_; }
  std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) override;
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override;
  int poll(PacketHandler handler, void* receiver) override;
  void shuffle() override;
  uint32_t unexpected_kib_at(PeerIndex to) override;
  void add_unexpected_bytes(PeerIndex from, int64_t bytes) override;

  bool is_gone(PeerIndex peer) override { return node_.is_gone(peer); }

  uint64_t prepare_sleep() override {
    sleeper_.prepare();
    return UINT64_MAX;
  }
  void sleep(uint64_t timeout_ns) override { sleeper_.sleep(timeout_ns); }
  void end_sleep(bool) override { sleeper_.end(); }
  void wake_own() override { sleeper_.wake_own(); }

  BounceBuffers& bounce_buffers() override { return bounce_buffers_; }
  LocalPath& local_path() override { return *this; }

 private:
  // Rings polled on every poll; at most as many others are polled in rotation.
  static constexpr size_t kHot = 4;
  // Packets taken from one ring before the next one is polled.
  static constexpr int kBatch = 16;

  shm::RingWriter* direct_ring_to(PeerIndex to) override;
  shm::RingReader* direct_ring_from(PeerIndex from) override;
  bool prefetch_room(PeerIndex to, size_t payload_bytes) override;
  bool prefetch_buffer(size_t bytes_ahead) override { return bounce_buffers_.prefetch(bytes_ahead); }
  bool target_of(PeerIndex peer, single_copy::Target& target) override;

  Status open_writer(PeerIndex to);
  void answer_connects();
  int drain(int from, PacketHandler handler, void* receiver);
  shm::RingWriter& writer(PeerIndex to) { return writers_[static_cast<size_t>(node_.local_rank_of(to))]; }
  shm::RingReader& reader(PeerIndex from) { return readers_[static_cast<size_t>(node_.local_rank_of(from))]; }

  const shm::Node& node_;
  const shm::Segment& segment_;
  const size_t packet_bytes_max_;
  std::vector<shm::RingWriter> writers_;  // by local rank
  std::vector<uint64_t> notes_;           // private words of the writers
  std::vector<shm::RingReader> readers_;  // by local rank
  std::vector<int> open_;    // local ranks with a ring to this process, those active last in front
  size_t turn_ = 0;          // next of the others in open_
  uint64_t probe_word_ = 0;  // see RankBlock::probe_word
  uint64_t* connect_bitmap_ = nullptr;
  size_t connect_words_ = 0;
  ShmBounceBuffers bounce_buffers_;
  shm::Sleeper sleeper_;
};

}  // namespace hearth::transport
