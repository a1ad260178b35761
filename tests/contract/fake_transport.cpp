#include "fake_transport.h"

#include <algorithm>

namespace hearth::contract {

FakeNetwork::FakeNetwork(int size, uint32_t seed)
    : size_(size),
      random_(seed),
      pairs_(static_cast<size_t>(size * size)),
      buffers_(static_cast<size_t>(size)) {
  for (Buffers& buffers : buffers_) {
    buffers.memory.resize(kBuffers * kBufferBytes);
    buffers.marks.resize(kBuffers);
    buffers.sent.resize(kBuffers);
  }
}

std::byte* FakeTransport::claim(PeerIndex to, size_t payload_bytes, Status&) {
  FakeNetwork::Pair& pair = network_.pair(self_, to);
  if (pair.under_way.size() >= FakeNetwork::kRingPackets || network_.chance(10)) return nullptr;
  pair.claimed.assign(payload_bytes + 1, std::byte{0});
  return pair.claimed.data();
}

void FakeTransport::commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                           uint64_t match) {
  FakeNetwork::Pair& pair = network_.pair(self_, to);
  const auto* payload = pair.claimed.data();
  pair.under_way.push_back(
      {{transport::PacketHeader::make_commit(kind, flags, static_cast<uint32_t>(payload_bytes), cookie),
        match},
       {payload, payload + payload_bytes}});
  pair.claimed.clear();
}

int FakeTransport::poll(PacketHandler handler, void* receiver) {
  int packets = 0;
  const auto first = static_cast<PeerIndex>(network_.random()() % static_cast<uint32_t>(network_.size()));
  for (PeerIndex step = 0; step < network_.size(); ++step) {
    const PeerIndex from = (first + step) % network_.size();
    std::deque<FakeNetwork::Packet>& under_way = network_.pair(from, self_).under_way;
    while (!under_way.empty() && network_.chance(60)) {
      const FakeNetwork::Packet packet = std::move(under_way.front());
      under_way.pop_front();
      handler(receiver, from, packet.header, packet.payload.data());
      ++packets;
    }
  }
  return packets;
}

void FakeTransport::add_unexpected_bytes(PeerIndex from, int64_t bytes) {
  FakeNetwork::Pair& pair = network_.pair(from, self_);
  pair.unexpected_bytes += static_cast<uint64_t>(bytes);
  pair.unexpected_kib = static_cast<uint32_t>(pair.unexpected_bytes >> 10);
}

int FakeTransport::take(size_t, const RunOptions& options) {
  FakeNetwork::Buffers& buffers = network_.buffers(self_);
  const size_t left = std::min(options.bytes_left / fragment_bytes_max(), buffers.sent.size() / 2);
  size_t in_use = 0;
  for (size_t buffer = 0; buffer < buffers.sent.size(); ++buffer)
    in_use += returned(self_, static_cast<int>(buffer), buffers.sent[buffer]) ? 0 : 1;
  if (in_use + 1 + left > buffers.sent.size()) return -1;
  for (size_t buffer = 0; buffer < buffers.sent.size(); ++buffer) {
    if (!returned(self_, static_cast<int>(buffer), buffers.sent[buffer])) continue;
    ++buffers.sent[buffer];
    return static_cast<int>(buffer);
  }
  return -1;
}

uint32_t FakeTransport::ticket(PeerIndex owner, int buffer) {
  const FakeNetwork::Buffers& buffers = network_.buffers(owner);
  return owner == self_ ? buffers.sent[static_cast<size_t>(buffer)]
                        : buffers.marks[static_cast<size_t>(buffer)] + 1;
}

bool FakeTransport::returned(PeerIndex owner, int buffer, uint32_t ticket) {
  // A mark is sometimes seen late.
  if (ticket == 0) return true;
  return network_.buffers(owner).marks[static_cast<size_t>(buffer)] >= ticket && network_.chance(70);
}

std::byte* FakeTransport::memory(PeerIndex owner, int buffer, size_t bytes) {
  if (buffer < 0 || buffer >= FakeNetwork::kBuffers || bytes > FakeNetwork::kBufferBytes) return nullptr;
  return network_.buffers(owner).memory.data() + static_cast<size_t>(buffer) * FakeNetwork::kBufferBytes;
}

void FakeTransport::release(PeerIndex owner, int buffer, PeerIndex) {
  ++network_.buffers(owner).marks[static_cast<size_t>(buffer)];
}

}  // namespace hearth::contract
