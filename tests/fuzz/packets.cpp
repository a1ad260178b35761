// The memory that two ranks share, seen by a rank whose peer may write anything anywhere: packets with any
// header and payload, words at any place of the segment, and between them sends, receives and probes of the
// rank itself. Either all goes well, or the rank stops with an error text.
#include "fuzz.h"
#include "rank.h"
#include "segment.h"
#include "transport/shm_transport.h"

using namespace hearth;

namespace {

constexpr int kSelf = 0;
constexpr int kPeer = 1;
constexpr size_t kStepsMax = 200;

class Pair {
 public:
  Pair(fuzz::Input& input, const shm::Segment& segment)
      : input_(input),
        segment_(segment),
        own_node_(segment, kSelf),
        other_node_(segment, kPeer),
        own_(own_node_),
        other_(other_node_),
        rank_(input, own_, 2) {}

  void run() {
    rank_.run([this] {
      for (size_t step = 0; step < kStepsMax && !input_.empty(); ++step) this->step();
    });
  }

 private:
  void step() {
    switch (input_.below(8)) {
      case 0:
      case 1:
        return send_packet();
      case 2:
        return scribble_into_ring();
      case 3:
        return scribble_anywhere();
      case 4:
        return rank_.send();
      case 5:
        return rank_.receive();
      case 6:
        return rank_.poll();
      default:
        rank_.progress();
    }
  }

  // Packets that the peer's own code would accept.
  void send_packet() {
    const auto kind = static_cast<uint8_t>(input_.below(64));
    const auto flags = static_cast<uint8_t>(input_.below(128));
    const auto cookie = static_cast<uint32_t>(input_.below(4)) | uint32_t{input_.take<uint8_t>()} << 24;
    const std::string_view payload = input_.take_text(input_.below(80));
    Status status;
    std::byte* place = other_.claim(kSelf, payload.size(), status);
    if (place == nullptr) return;
    if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    const uint64_t match = p2p::match_word(fuzz::Rank::kContext, rank_.some_tag());
    other_.commit(kSelf, kind, flags, payload.size(), cookie, match);
  }
  void scribble_into_ring() {
    const uint32_t number = segment_.ring_number(kSelf, kPeer);
    if (number == 0 || number > segment_.ring_count_max()) return;
    const size_t slot = input_.below(segment_.geometry().ring_bytes / 8);
    store(segment_.ring_memory(number - 1) + slot * 8);
  }
  void scribble_anywhere() {
    // Spares the peer's own bookkeeping, and words that are arguments of system calls.
    const size_t words = segment_.geometry().rings_offset / 8;
    store(reinterpret_cast<std::byte*>(&segment_.job()) + input_.take<uint32_t>() % words * 8);
  }
  void store(std::byte* place) {
    const auto word = input_.take<uint64_t>();
    std::memcpy(place, &word, sizeof word);
  }

  fuzz::Input& input_;
  const shm::Segment& segment_;
  shm::Node own_node_;
  shm::Node other_node_;
  transport::ShmTransport own_;
  transport::ShmTransport other_;
  fuzz::Rank rank_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  return fuzz::run_in_segment<Pair>(data, bytes, 2, 1);
}
