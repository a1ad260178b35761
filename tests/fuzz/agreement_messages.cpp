// Agreements with members on other machines that may send anything: messages with any header, of any length
// and in any order, packets that start longer messages, and reported failures. Each agreement ends once all
// other members are reported as failed, or the rank stops with an error text.
#include "agreeing.h"
#include "segment.h"

using namespace hearth;

namespace {

constexpr size_t kStepsMax = 200;
constexpr int kSize = fuzz::Agreeing::kSize;

/// Like Header in src/coll/agreement_messages.cpp, with its four sets for this few members.
struct Message {
  uint32_t kind;
  uint32_t context;
  uint32_t number;
  uint32_t leader;
  uint32_t flags;
  uint32_t proposed_by;
  uint32_t proposed_flags;
  uint32_t proposed_context;
  uint8_t sets[4];
};

class Members {
 public:
  Members(fuzz::Input& input, const shm::Segment& segment)
      : input_(input),
        member_(input, segment, true),
        other_nodes_{{segment, (member_.self() + 1) % kSize}, {segment, (member_.self() + 2) % kSize}},
        others_{transport::ShmTransport(other_nodes_[0]), transport::ShmTransport(other_nodes_[1])} {}

  void run() {
    member_.rank().run([this] {
      for (size_t step = 0; step < kStepsMax && !input_.empty(); ++step) this->step();
      // Once all other members have failed, every wait ends, whatever was sent.
      for (int other = 0; other < kSize; ++other) {
        if (other != member_.self()) member_.tell_death(other);
      }
      static_cast<void>(member_.rank().engine().failure_handler().poll());
      for (size_t left = member_.under_way(); left > 0; --left) member_.go_on();
      fuzz::demand(member_.under_way() == 0, "agreements end once all others are dead");
    });
  }

 private:
  void step() {
    switch (input_.below(8)) {
      case 0:
        return member_.begin();
      case 1:
        return member_.go_on();
      case 2:
      case 3:
      case 4:
        return say();
      case 5:
        return send_packet();
      case 6:
        member_.tell_death(member_.some_other());
        static_cast<void>(member_.rank().engine().failure_handler().poll());
        return;
      default:
        if (input_.below(2) == 0) return member_.describe();
        member_.rank().progress();
    }
  }

  // Like a real member, except for oddities that the input chooses.
  void say() {
    const size_t from = input_.below(std::size(others_));
    Message message = {};
    message.kind = static_cast<uint32_t>(input_.below(5));
    message.context = fuzz::Agreeing::kContext;
    message.number = 1 + static_cast<uint32_t>(input_.below(4));
    message.leader = static_cast<uint32_t>(input_.below(kSize + 1));
    message.flags = message.proposed_flags = input_.take<uint8_t>();
    message.proposed_by = static_cast<uint32_t>(input_.below(kSize + 2));
    for (uint8_t& set : message.sets) set = input_.take<uint8_t>();
    const size_t oddity = input_.below(24);
    if (oddity < sizeof message / sizeof(uint32_t)) {
      const auto word = input_.take<uint32_t>();
      std::memcpy(reinterpret_cast<std::byte*>(&message) + oddity * sizeof word, &word, sizeof word);
    }
    std::string bytes(reinterpret_cast<const char*>(&message), sizeof message);
    if (oddity == 10) bytes.resize(input_.below(sizeof message));
    if (oddity == 11) bytes += input_.take_text(input_.below(80));
    send(from, static_cast<uint8_t>(p2p::PacketKind::eager), 0, 0, bytes);
  }
  // Of any kind, with the match word of an agreement.
  void send_packet() {
    const size_t from = input_.below(std::size(others_));
    const auto kind = static_cast<uint8_t>(input_.below(64));
    const auto flags = static_cast<uint8_t>(input_.below(128));
    const auto cookie = static_cast<uint32_t>(input_.below(16)) | uint32_t{input_.take<uint8_t>()} << 24;
    send(from, kind, flags, cookie, input_.take_text(input_.below(80)));
  }
  void send(size_t from, uint8_t kind, uint8_t flags, uint32_t cookie, std::string_view payload) {
    transport::ShmTransport& other = others_[from];
    Status status;
    std::byte* place = other.claim(member_.self(), payload.size(), status);
    if (place == nullptr) return;
    if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    other.commit(member_.self(), kind, flags, payload.size(), cookie, p2p::match_word(kAgreementContext, 0));
  }

  fuzz::Input& input_;
  fuzz::Agreeing member_;
  shm::Node other_nodes_[kSize - 1];
  transport::ShmTransport others_[kSize - 1];
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  return fuzz::run_in_segment<Members>(data, bytes, kSize, 1);
}
