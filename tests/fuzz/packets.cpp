// The memory that two ranks share, as a rank finds it whose peer may write anything anywhere: packets of any
// header and payload, words at any place of the segment, and between them sends, receives and looks of the
// rank itself. Either all goes well, or the rank says what it found.
#include <array>
#include <memory>
#include <vector>

#include "base/param.h"
#include "fuzz.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "shm/damage.h"
#include "transport/shm_transport.h"

using namespace hearth;

namespace {

constexpr int kSelf = 0;
constexpr int kPeer = 1;
constexpr size_t kRoomBytes = 1 << 16;
constexpr size_t kStepsMax = 200;

struct Stopped {};

class Rank {
 public:
  explicit Rank(fuzz::Input& input) : input_(input) {
    shm::SegmentPlan plan;
    plan.rank_count = 2;
    plan.ring_lines = 32;
    plan.cell_bytes = 256;
    plan.cell_count = 21;
    plan.area_count = 1;
    plan.chunk_bytes = 4096;
    fuzz::demand(shm::Segment::create(plan, segment_).ok(), "there is memory for a segment");
    byte_.size = byte_.extent = byte_.true_extent = 1;
    byte_.committed = true;
    own_ = std::make_unique<transport::ShmTransport>(segment_, kSelf);
    other_ = std::make_unique<transport::ShmTransport>(segment_, kPeer);
    p2p::EngineSetup setup;
    setup.self = kSelf;
    setup.size = 2;
    setup.transport = own_.get();
    setup.relation = [](PeerIndex) { return topo::Relation::l3; };
    setup.fatal = [](Status) { throw Stopped(); };
    setup.warn = [](const char*) {};
    engine_ = std::make_unique<p2p::Engine>(setup);
    room_.resize(kRoomBytes);
  }

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
        return send();
      case 5:
        return receive();
      case 6:
        return look();
      default:
        engine_->progress();
    }
  }
  void look_on() {
    for (int i = 0; i < 8; ++i) engine_->progress();
  }

 private:
  Count length() {
    return static_cast<Count>(input_.below(2) == 0 ? input_.below(64) : input_.below(20'000));
  }
  uint64_t match() { return p2p::match_word(6, static_cast<int>(input_.below(3))); }

  // What the peer's own code lets through.
  void send_packet() {
    const auto kind = static_cast<uint8_t>(input_.below(64));
    const auto flags = input_.take<uint8_t>();
    const auto cookie = static_cast<uint32_t>(input_.below(4)) | uint32_t{input_.take<uint8_t>()} << 24;
    const std::string_view payload = input_.take_text(input_.below(80));
    Status status;
    std::byte* place = other_->claim(kSelf, payload.size(), status);
    if (place == nullptr) return;
    if (!payload.empty()) std::memcpy(shm::payload_at(place), payload.data(), payload.size());
    other_->commit(kSelf, kind, flags, payload.size(), cookie, match());
  }
  void scribble_into_ring() {
    const uint32_t number = segment_.ring_number(kSelf, kPeer);
    if (number == 0 || number > segment_.ring_count_max()) return;
    const size_t slot = input_.below(segment_.geometry().ring_bytes / 8);
    store(segment_.ring_memory(number - 1) + slot * 8);
  }
  void scribble_anywhere() {
    // The words of the peer's own bookkeeping are its own matter, and so are calls of the system.
    const size_t words = segment_.geometry().rings_offset / 8;
    store(reinterpret_cast<std::byte*>(&segment_.job()) + input_.take<uint32_t>() % words * 8);
  }
  void store(std::byte* place) {
    const auto word = input_.take<uint64_t>();
    std::memcpy(place, &word, sizeof word);
  }

  void send() {
    const auto mode = input_.below(2) == 0 ? p2p::SendMode::standard : p2p::SendMode::synchronous;
    const auto to = static_cast<PeerIndex>(input_.below(2));
    p2p::Request* request = nullptr;
    static_cast<void>(engine_->isend(room_.data(), length(), byte_, to, static_cast<int>(input_.below(3)), 6,
                                     request, mode));
  }
  void receive() {
    const Count bytes = length();
    const auto from = static_cast<PeerIndex>(input_.below(2));
    const int tag = input_.below(4) == 0 ? MPI_ANY_TAG : static_cast<int>(input_.below(3));
    p2p::Request* request = nullptr;
    buffers_.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(bytes)));
    static_cast<void>(engine_->ireceive(buffers_.back().get(), bytes, byte_, from, tag, 6, request));
  }
  void look() {
    p2p::Received received;
    if (!engine_->iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, 6, received)) return;
    fuzz::demand(received.bytes >= 0, "no message has fewer bytes than none");
  }

  fuzz::Input& input_;
  shm::Segment segment_;
  datatype::Type byte_;
  std::vector<std::byte> room_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::unique_ptr<transport::ShmTransport> own_;
  std::unique_ptr<transport::ShmTransport> other_;
  std::unique_ptr<p2p::Engine> engine_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fuzz::Input input(data, bytes);
  shm::set_damage_handler([](Status) { throw Stopped(); });
  Rank rank(input);
  try {
    for (size_t step = 0; step < kStepsMax && !input.empty(); ++step) rank.step();
    rank.look_on();
  } catch (const Stopped&) {
    fuzz::demand(*last_failure_text() != '\0', "who stops says why");
  }
  shm::set_damage_handler(nullptr);
  return 0;
}
