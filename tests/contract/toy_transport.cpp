// The smallest transport, and the example of docs/design/adding_a_transport.md: the mandatory functions only,
// over local sockets. One socket carries the packets of each ordered pair of processes, which keeps them in
// order; one message of the socket is one packet.
#include <sys/socket.h>

#include <array>

#include "base/check.h"
#include "base/os_io.h"
#include "job.h"

namespace hearth::contract {
namespace {

constexpr size_t kPayloadMax = 2000;
constexpr int kBatch = 16;
// Packet kind of the toy itself. Its cookie gives the KiB of the receiver's messages that are unmatched at
// the sender.
constexpr uint8_t kCreditKind = 0;

class Toy final : public transport::Transport {
 public:
  struct Peer {
    os::Descriptor out;
    os::Descriptor in;
    int64_t unexpected_bytes = 0;  // from it, unmatched here
    uint32_t published_kib = 0;    // of these, published to it
    uint32_t unexpected_kib_there = 0;
  };

  explicit Toy(std::vector<Peer> peers) : peers_(std::move(peers)) {}

  const char* name() const override { return "toy"; }
  size_t packet_bytes_max() const override { return kPayloadMax; }

  std::byte* claim(PeerIndex to, size_t payload_bytes, Status&) override {
    HEARTH_CHECK(payload_bytes <= kPayloadMax);
    return os::ready_to_write(peer(to).out.number()) ? outgoing_.payload.data() : nullptr;
  }

  void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
              uint64_t match) override {
    const auto bytes = static_cast<uint32_t>(payload_bytes);
    outgoing_.header = {PacketHeader::make_commit(kind, flags, bytes, cookie), match};
    const size_t whole = sizeof(PacketHeader) + payload_bytes;
    // A socket that is ready to write takes a whole message.
    HEARTH_CHECK(send(peer(to).out.number(), &outgoing_, whole, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                 static_cast<ssize_t>(whole));
  }

  int poll(transport::PacketHandler handler, void* receiver) override {
    int packets = 0;
    for (size_t from = 0; from < peers_.size(); ++from) {
      // The handler may commit packets, so arrived ones have memory of their own.
      Message arrived;
      for (int i = 0; i < kBatch && receive(peers_[from].in, arrived); ++i) {
        if (arrived.header.kind() == kCreditKind) {
          peers_[from].unexpected_kib_there = arrived.header.cookie();
          continue;
        }
        handler(receiver, static_cast<PeerIndex>(from), arrived.header, arrived.payload.data());
        ++packets;
      }
    }
    publish_credits();
    return packets;
  }

  uint32_t unexpected_kib_at(PeerIndex to) override { return peer(to).unexpected_kib_there; }
  void add_unexpected_bytes(PeerIndex from, int64_t bytes) override { peer(from).unexpected_bytes += bytes; }

 private:
  using PacketHeader = transport::PacketHeader;
  struct Message {
    PacketHeader header;
    std::array<std::byte, kPayloadMax> payload;
  };

  Peer& peer(PeerIndex index) { return peers_[static_cast<size_t>(index)]; }

  static bool receive(const os::Descriptor& socket, Message& message) {
    const ssize_t bytes = recv(socket.number(), &message, sizeof message, MSG_DONTWAIT);
    return bytes >= static_cast<ssize_t>(sizeof(PacketHeader));
  }

  void publish_credits() {
    for (size_t to = 0; to < peers_.size(); ++to) {
      Peer& one = peers_[to];
      const auto kib = static_cast<uint32_t>(one.unexpected_bytes >> 10);
      Status status;
      if (kib == one.published_kib || claim(static_cast<PeerIndex>(to), 0, status) == nullptr) continue;
      one.published_kib = kib;
      commit(static_cast<PeerIndex>(to), kCreditKind, 0, 0, kib, 0);
    }
  }

  std::vector<Peer> peers_;
  Message outgoing_;
};

}  // namespace

Endpoints make_toy_endpoints(int size) {
  std::vector<std::vector<Toy::Peer>> peers(static_cast<size_t>(size));
  for (auto& of_one : peers) of_one.resize(static_cast<size_t>(size));
  for (size_t from = 0; from < peers.size(); ++from) {
    for (size_t to = 0; to < peers.size(); ++to) {
      int ends[2];
      HEARTH_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
      peers[from][to].out = os::Descriptor(ends[0]);
      peers[to][from].in = os::Descriptor(ends[1]);
    }
  }
  Endpoints endpoints;
  for (auto& of_one : peers) endpoints.push_back(std::make_unique<Toy>(std::move(of_one)));
  return endpoints;
}

}  // namespace hearth::contract
