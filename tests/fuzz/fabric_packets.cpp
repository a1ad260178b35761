// Packets from other machines, seen by a rank whose peers there may send anything, in any order, and whose
// network may fail at any time; between them the rank sends, receives, probes and leaves. Either all goes
// well, or the rank stops with an error text. Its memory is bounded for every input.
#include <array>
#include <memory>

#include "fuzz.h"
#include "provider.h"
#include "rank.h"
#include "transport/fabric.h"

using namespace hearth;

namespace {

constexpr int kSize = 3;
constexpr uint64_t kKey = 0x5eed;
constexpr size_t kStepsMax = 300;
constexpr size_t kFlood = 500;
// 16 packets are registered as one slab; no buffer of the program here is that long.
constexpr size_t kSlabBytesMin = 16 * transport::kNetworkPacketBytesUsual;
// 64 receives are posted, and each peer may be a window of 64 packets ahead, or behind in taking this rank's
// packets.
constexpr size_t kSlabsMax = 64 * (1 + 2 * kSize) / 16;

/// Like FabricTransport's Wire.
struct Wire {
  uint64_t key;
  uint32_t from;
  uint32_t number;
  uint32_t taken;
  uint32_t unmatched_kib;
  shm::PacketHeader header;
};
static_assert(sizeof(Wire) == transport::kNetworkHeaderBytes);

std::unique_ptr<transport::Network> open_network() {
  transport::NetworkSetup setup;
  setup.self = 0;
  setup.size = kSize;
  setup.key = kKey;
  setup.lost = [](void*, PeerIndex, const char*) {};
  std::unique_ptr<transport::Network> network;
  fuzz::demand(transport::open_fabric(setup, network).ok(), "the network opens");
  const std::array<std::byte, 8> address = {};
  for (PeerIndex peer = 0; peer < kSize; ++peer) network->introduce(peer, address);
  return network;
}

class Machine {
 public:
  explicit Machine(fuzz::Input& input)
      : input_(input),
        provider_(input.below(2) == 1),
        network_(open_network()),
        rank_(input, *network_, kSize) {}

  void run() {
    rank_.run([this] {
      for (size_t step = 0; step < kStepsMax && !input_.empty(); ++step) {
        this->step();
        fuzz::demand(provider_.registrations(kSlabBytesMin) <= kSlabsMax, "memory for packets has a bound");
        fuzz::demand(provider_.posted() <= 64, "as many receives are posted as there were");
      }
      provider_.set_busy(false);
    });
  }

 private:
  void step() {
    switch (input_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return deliver(1);
      case 4:
        return deliver(kFlood);
      case 5:
        return provider_.deliver(input_.take_text(input_.below(80)));
      case 6: {
        const size_t choice = input_.below(4);
        return provider_.deliver_buffer(choice, input_.below(20'000));
      }
      case 7:
        return provider_.fail(input_.below(12));
      case 8:
        return provider_.set_busy(input_.below(2) == 1);
      case 9:
        if (!leaves_) network_->leave();
        leaves_ = true;
        return;
      case 10:
        if (leaves_ && network_->has_left()) leaves_ = false;
        return;
      case 11:
        return rank_.send();
      case 12:
        return rank_.receive();
      case 13:
        return rank_.poll();
      default:
        rank_.progress();
    }
  }

  // Mostly from a peer of the job, with the next packet number.
  void deliver(size_t times) {
    Wire wire = {};
    const size_t oddity = input_.below(16);
    wire.key = oddity == 1 ? input_.take<uint64_t>() : kKey;
    wire.from = oddity == 2 ? input_.take<uint32_t>() : static_cast<uint32_t>(1 + input_.below(kSize - 1));
    const auto kind = static_cast<uint8_t>(input_.below(64));
    const auto flags = input_.take<uint8_t>();
    const auto cookie = static_cast<uint32_t>(input_.below(4)) | uint32_t{input_.take<uint8_t>()} << 24;
    const bool long_one = oddity == 3;
    const std::string payload =
        long_one ? std::string(input_.below(40'000), 'p') : std::string(input_.take_text(input_.below(80)));
    const auto said = oddity == 4 ? input_.take<uint16_t>() : static_cast<uint16_t>(payload.size());
    wire.header = {shm::PacketHeader::make_commit(kind, flags, said, cookie),
                   p2p::match_word(fuzz::Rank::kContext, rank_.some_tag())};
    wire.taken = oddity == 5 ? input_.take<uint32_t>() : static_cast<uint32_t>(input_.below(4));
    wire.unmatched_kib = input_.take<uint8_t>();
    uint32_t& next = next_[wire.from % kSize];
    const auto ahead = static_cast<uint32_t>(oddity == 6 ? input_.below(80) : 0);
    wire.number = oddity == 7 ? input_.take<uint32_t>() : next + ahead;
    if (wire.number == next && kind != 0 && kind != 0x3e) ++next;
    std::string packet(reinterpret_cast<const char*>(&wire), sizeof wire);
    packet += payload;
    for (size_t i = 0; i < times; ++i) {
      provider_.deliver(packet);
      if (times > 1) rank_.progress();
    }
  }

  fuzz::Input& input_;
  fuzz::Provider provider_;
  std::unique_ptr<transport::Network> network_;
  fuzz::Rank rank_;
  std::array<uint32_t, kSize> next_ = {};
  bool leaves_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  Machine(input).run();
  return 0;
}
