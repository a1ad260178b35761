// A transport for tests of the engine's parts, with its bounce buffers and its local path: it has room for a
// bounded number of packets, which it stores, and records what it is asked for. Nothing arrives from it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "transport/local_path.h"
#include "transport/transport.h"

namespace hearth::p2p {

class RecordingTransport : public transport::Transport,
                           public transport::BounceBuffers,
                           public transport::LocalPath {
 public:
  struct Packet {
    PeerIndex to;
    transport::PacketHeader header;
    std::vector<std::byte> payload;
  };
  struct Buffers {
    PeerIndex owner;
    int buffer;
    PeerIndex from;
    bool operator==(const Buffers&) const = default;
  };

  const char* name() const override { return "recording"; }
  size_t packet_bytes_max() const override { return 1024; }
  transport::BounceBuffers& bounce_buffers() override { return *this; }
  transport::LocalPath& local_path() override { return *this; }
  size_t fragment_bytes_max() const override { return fragment_bytes; }

  std::byte* claim(PeerIndex, size_t payload_bytes, Status&) override {
    if (packets.size() == room) return nullptr;
    line_.resize(std::max<size_t>(payload_bytes, 1));
    return line_.data();
  }
  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override {
    const std::byte* payload = line_.data();
    packets.push_back(
        {to,
         {transport::PacketHeader::make_commit(kind, flags, static_cast<uint32_t>(payload_bytes), cookie),
          match},
         std::vector<std::byte>(payload, payload + payload_bytes)});
  }
  int poll(transport::PacketHandler, void*) override { return 0; }
  uint32_t unexpected_kib_at(PeerIndex) override { return unexpected_kib; }
  void add_unexpected_bytes(PeerIndex, int64_t bytes) override { unexpected_bytes += bytes; }

  bool prefetch_room(PeerIndex, size_t bytes) override {
    prefetched.push_back(bytes);
    return has_room_to_prefetch;
  }
  bool prefetch_buffer(size_t) override { return buffers_to_prefetch-- > 0; }
  void release(PeerIndex owner, int buffer, PeerIndex from) override {
    released.push_back({owner, buffer, from});
  }

  size_t room = SIZE_MAX;  // packets
  size_t fragment_bytes = 0;
  uint32_t unexpected_kib = 0;
  bool has_room_to_prefetch = true;
  int buffers_to_prefetch = 0;

  std::vector<Packet> packets;
  std::vector<Buffers> released;
  std::vector<size_t> prefetched;
  int64_t unexpected_bytes = 0;

 private:
  std::vector<std::byte> line_;
};

}  // namespace hearth::p2p
