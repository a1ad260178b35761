// The sender's side of cooperative copies: on request of the receiver of a zero-copy message it copies
// fragments, in the arena or by a single-copy method, or writes the whole message alone. Also probes which
// access this process has to the memory of another one.
#include "base/copy.h"
#include "datatype/type.h"
#include "p2p/cma_access.h"
#include "p2p/engine.h"
#include "profile/recorder.h"

namespace hearth::p2p {
namespace {

class SendingInArena final : public single_copy::Copier {
 public:
  SendingInArena(std::byte* to, const std::byte* data) : to_(to), data_(data) {}
  bool copy(const single_copy::Piece& piece) override {
    copy_bytes(to_ + piece.at, data_ + piece.at, piece.bytes);
    return true;
  }

 private:
  std::byte* const to_;
  const std::byte* const data_;
};

class SendingByMethod final : public single_copy::Copier {
 public:
  SendingByMethod(single_copy::Method& method, const single_copy::Target& target, uint64_t to,
                  const std::byte* data)
      : method_(method), target_(target), to_(to), data_(data) {}
  bool copy(const single_copy::Piece& piece) override {
    return method_.write(target_, to_ + piece.at, data_ + piece.at, piece.bytes);
  }

 private:
  single_copy::Method& method_;
  const single_copy::Target& target_;
  const uint64_t to_;
  const std::byte* const data_;
};

single_copy::Message message_of(PeerIndex helper, const CooperativeRequest& cooperative_request,
                                const single_copy::PieceSizes& sizes) {
  return {single_copy::copy_mark(static_cast<uint16_t>(helper),
                                 static_cast<uint16_t>(cooperative_request.number)),
          static_cast<size_t>(cooperative_request.bytes), sizes};
}

}  // namespace

// The first method that can read a known word of exactly that process; nullptr: none.
single_copy::Method* Engine::reader_of(PeerIndex index, Peer& peer) {
  if (peer.reading == Peer::Ability::untried) {
    peer.reading = Peer::Ability::refused;
    const bool reachable = transport_.target_of(index, peer.target);
    for (single_copy::Method* method : methods_) {
      if (!reachable || !method->probe_read(peer.target)) continue;
      peer.method = method;
      peer.reading = Peer::Ability::works;
      break;
    }
    if (recorder_ != nullptr) {
      recorder_->tell_method(index, peer.method != nullptr ? peer.method->name() : nullptr);
    }
  }
  return peer.reading == Peer::Ability::works ? peer.method : nullptr;
}

// The method for writes. Needs a successful read probe first, which verifies the identity of the process.
single_copy::Method* Engine::writer_of(PeerIndex index, Peer& peer) {
  if (peer.writing == Peer::Ability::untried) {
    static_cast<void>(reader_of(index, peer));
    const bool works = peer.method != nullptr && peer.method->probe_write(peer.target);
    peer.writing = works ? Peer::Ability::works : Peer::Ability::refused;
  }
  return peer.writing == Peer::Ability::works ? peer.method : nullptr;
}

// The control block that counts concurrent accesses to that process's memory; nullptr if they are not
// counted.
shm::CopyControlBlock* Engine::cma_block_of(PeerIndex index, const single_copy::Method& method) const {
  return control_block_ && method.takes_lock() ? control_block_(index) : nullptr;
}

// Returns false for an invalid request. Copies only from a buffer that was exposed in this way and still is.
bool Engine::on_cooperative_request(Request& request, uint8_t flags, const std::byte* payload) {
  CooperativeRequest cooperative_request;
  copy_bytes(&cooperative_request, payload, sizeof cooperative_request);
  SendStream* stream = request.send_stream;
  const uint8_t lent_as = flags & kByMethod ? kSingleCopy : kInArena;
  if (stream == nullptr || !stream->held || stream->offered != lent_as || cooperative_request.bytes == 0 ||
      cooperative_request.bytes > static_cast<uint64_t>(stream->total_bytes) ||
      cooperative_request.number > UINT16_MAX) {
    return false;
  }
  const PeerIndex receiver = request.key.peer;
  const uint64_t copied_before = counters_.bytes_copied_by_sender;
  const uint64_t begun_ns = recorder_ != nullptr ? os::now_ns() : 0;
  const bool right = serve_cooperative_request(request, flags, cooperative_request);
  if (recorder_ != nullptr && counters_.bytes_copied_by_sender > copied_before) {
    recorder_->copied(receiver, counters_.bytes_copied_by_sender - copied_before, begun_ns, os::now_ns());
  }
  return right;
}

// May destroy the request.
bool Engine::serve_cooperative_request(Request& request, uint8_t flags,
                                       const CooperativeRequest& cooperative_request) {
  SendStream& stream = *request.send_stream;
  switch (flags) {
    case 0:
      return copy_own_part_in_arena(request, cooperative_request);
    case kByMethod:
      copy_own_part_by_method(request, cooperative_request);
      return true;
    case kByMethod | kAlone:
      stream.answer_flags = write_alone(request, cooperative_request);
      stream.to_answer = true;
      let_go(stream);
      return true;
    default:
      return false;
  }
}

// Returns false if the buffer is not inside the receiver's arena slice.
bool Engine::copy_own_part_in_arena(const Request& request, const CooperativeRequest& cooperative_request) {
  const size_t slice_bytes = arena_->slice_bytes();
  if (cooperative_request.to > slice_bytes ||
      cooperative_request.bytes > slice_bytes - cooperative_request.to)
    return false;
  const PeerIndex receiver = request.key.peer;
  std::byte* to = arena_->memory_of(place_of(receiver), cooperative_request.to,
                                    static_cast<size_t>(cooperative_request.bytes));
  if (to == nullptr) return true;  // this process has no address space left for the slice
  SendingInArena copier(to, first_byte(request));
  const single_copy::Message message = message_of(self_, cooperative_request, single_copy::kPlainPieces);
  counters_.bytes_copied_by_sender +=
      single_copy::send_pieces(*control_block_(receiver), message, copier).bytes;
  return true;
}

void Engine::copy_own_part_by_method(const Request& request, const CooperativeRequest& cooperative_request) {
  const PeerIndex receiver = request.key.peer;
  Peer& peer = peers_[static_cast<size_t>(receiver)];
  single_copy::Method* method = writer_of(receiver, peer);
  if (method == nullptr || !control_block_) return;
  const CmaAccess access(cma_block_of(receiver, *method), pairs_.know(receiver).protocol.cma_accesses_max,
                         place_of(self_));
  if (!access.allowed()) return;
  SendingByMethod copier(*method, peer.target, cooperative_request.to, first_byte(request));
  const single_copy::Message message = message_of(self_, cooperative_request, single_copy::kSystemPieces);
  const single_copy::SenderPart sender_part =
      single_copy::send_pieces(*control_block_(receiver), message, copier);
  if (sender_part.refused) peer.writing = Peer::Ability::refused;
  counters_.bytes_copied_by_sender += sender_part.bytes;
}

// Returns the flags of the answer.
uint8_t Engine::write_alone(const Request& request, const CooperativeRequest& cooperative_request) {
  const PeerIndex receiver = request.key.peer;
  Peer& peer = peers_[static_cast<size_t>(receiver)];
  single_copy::Method* method = writer_of(receiver, peer);
  if (method != nullptr) {
    const CmaAccess access(cma_block_of(receiver, *method), pairs_.know(receiver).protocol.cma_accesses_max,
                           place_of(self_));
    if (!access.allowed()) return kNotWritten;
    if (method->write(peer.target, cooperative_request.to, first_byte(request),
                      static_cast<size_t>(cooperative_request.bytes))) {
      counters_.bytes_copied_by_sender += cooperative_request.bytes;
      return 0;
    }
    peer.writing = Peer::Ability::refused;
  }
  return kNotWritten | kNeverWritten;
}

}  // namespace hearth::p2p
