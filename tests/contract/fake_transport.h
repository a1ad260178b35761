// A transport in one process, driven by a seed: packets become visible late, rings look full, bounce buffers
// return late, all by pseudo-random numbers. The same seed gives the same run, so a race is replayed by its
// seed.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "transport/local_path.h"
#include "transport/transport.h"

namespace hearth::contract {

using transport::PacketHandler;
using transport::PeerIndex;

/// The state that the endpoints of one job share.
class FakeNetwork {
 public:
  static constexpr size_t kPacketBytesMax = 600;
  static constexpr size_t kBufferBytes = 512;
  static constexpr int kBuffers = 5;
  static constexpr size_t kRingPackets = 6;

  FakeNetwork(int size, uint32_t seed);

  struct Packet {
    transport::PacketHeader header;
    std::vector<std::byte> payload;
  };
  struct Pair {
    std::deque<Packet> under_way;
    std::vector<std::byte> claimed;
    uint32_t unexpected_kib = 0;
    uint64_t unexpected_bytes = 0;
  };
  struct Buffers {
    std::vector<std::byte> memory;
    std::vector<uint32_t> marks;
    std::vector<uint32_t> sent;
  };

  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  Pair& pair(PeerIndex from, PeerIndex to) { return pairs_[static_cast<size_t>(from * size_ + to)]; }
  Buffers& buffers(PeerIndex owner) { return buffers_[static_cast<size_t>(owner)]; }
  int size() const { return size_; }
  std::mt19937& random() { return random_; }

 private:
  const int size_;
  std::mt19937 random_;
  std::vector<Pair> pairs_;
  std::vector<Buffers> buffers_;
};

class FakeTransport final : public transport::Transport,
                            private transport::BounceBuffers,
                            private transport::LocalPath {
 public:
  FakeTransport(FakeNetwork& network, PeerIndex self) : network_(network), self_(self) {}

  const char* name() const override { return "fake"; }
  size_t packet_bytes_max() const override { return FakeNetwork::kPacketBytesMax; }
  std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) override;
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override;
  int poll(PacketHandler handler, void* receiver) override;
  uint32_t unexpected_kib_at(PeerIndex to) override { return network_.pair(self_, to).unexpected_kib; }
  void add_unexpected_bytes(PeerIndex from, int64_t bytes) override;

  transport::BounceBuffers& bounce_buffers() override { return *this; }
  transport::LocalPath& local_path() override { return *this; }

 private:
  size_t fragment_bytes_max() const override { return FakeNetwork::kBufferBytes; }
  int take(size_t bytes, const RunOptions& options) override;
  uint32_t ticket(PeerIndex owner, int buffer) override;
  bool returned(PeerIndex owner, int buffer, uint32_t ticket) override;
  std::byte* memory(PeerIndex owner, int buffer, size_t bytes) override;
  void release(PeerIndex owner, int buffer, PeerIndex from) override;

  /// All endpoints are in this process.
  bool target_of(PeerIndex, single_copy::Target&) override { return true; }

  FakeNetwork& network_;
  const PeerIndex self_;
};

}  // namespace hearth::contract
