// Long messages that are copied once, from the sender's buffer to the receiver's: from the arena by plain
// loads, otherwise by a single-copy method. The receiver copies alone, from some length on both sides copy
// (cooperative copy), or the sender copies alone. The sender's buffer stays exposed until `finished` arrives
// or the sender answers with `written`. If no method works for a receiver, it answers clear_to_send, and the
// message goes through bounce buffers. This file has the receiver's side and the sender's offer;
// cooperative_send.cpp has the sender's side of the copy.
#include <algorithm>

#include "base/copy.h"
#include "datatype/type.h"
#include "p2p/cma_access.h"
#include "p2p/engine.h"
#include "profile/recorder.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

// One in this many messages that are eligible for the arena, beginning with the first, goes through new
// bounce buffers, so that the store policy samples whether the receiver still shares a cache: either process
// may have moved. Without a shared cache the arena is not used: writing again to a buffer that the receiver
// has read costs more than bounce buffers.
constexpr uint32_t kOffersPerSample = 64;
// The same if the receiver shares no cache, or nothing is known yet. Recycled buffers are fast to write in
// both cases and so give no sample.
constexpr uint32_t kRefusalsPerSample = 16;

/// The receiver's side of a cooperative copy.
class Receiving : public single_copy::Copier {
 public:
  Receiving(transport::Transport& transport, PeerIndex from) : transport_(transport), from_(from) {}
  bool sender_is_gone() override { return transport_.is_gone(from_); }

 protected:
  ~Receiving() = default;

 private:
  transport::Transport& transport_;
  const PeerIndex from_;
};

class ReceivingFromArena final : public Receiving {
 public:
  ReceivingFromArena(transport::Transport& transport, PeerIndex from, std::byte* to, const std::byte* data)
      : Receiving(transport, from), to_(to), data_(data) {}
  bool copy(const single_copy::Piece& piece) override {
    copy_bytes(to_ + piece.at, data_ + piece.at, piece.bytes);
    return true;
  }

 private:
  std::byte* const to_;
  const std::byte* const data_;
};

class ReceivingByMethod final : public Receiving {
 public:
  ReceivingByMethod(transport::Transport& transport, ReceiveStream& stream, std::byte* to,
                    single_copy::Method& method, const single_copy::Target& target)
      : Receiving(transport, stream.from),
        to_(to),
        address_(stream.address),
        prefault_(stream.prefault),
        method_(method),
        target_(target) {}
  bool copy(const single_copy::Piece& piece) override {
    prefault_.prepare(piece.at + piece.bytes);
    return method_.read(target_, to_ + piece.at, address_ + piece.at, piece.bytes);
  }

 private:
  std::byte* const to_;
  const uint64_t address_;
  Prefault& prefault_;
  single_copy::Method& method_;
  const single_copy::Target& target_;
};

// Copies in steps while pages remain to be prefaulted, so that each page is still in the cache when it is
// copied to.
void copy_to_buffer(Prefault& prefault, std::byte* to, const std::byte* data, size_t bytes) {
  constexpr size_t kStepBytes = size_t{256} << 10;
  size_t at = 0;
  for (; prefault.any() && at + kStepBytes < bytes; at += kStepBytes) {
    prefault.prepare(at + kStepBytes);
    copy_bytes(to + at, data + at, kStepBytes);
  }
  copy_bytes(to + at, data + at, bytes - at);
}

}  // namespace

bool Engine::cells_hold(const PairProtocol& limits, uint64_t bytes) {
  return bytes <= limits.part_bytes_max * static_cast<uint64_t>(limits.cells_in_flight_max);
}

// Whether to offer this message in the arena: the receiver shares a cache with this process, and no sample is
// due.
bool Engine::offers_arena(Peer& peer, bool near) {
  peer.sample_due = peer.arena_questions++ % (near ? kOffersPerSample : kRefusalsPerSample) == 0;
  return near && !peer.sample_due;
}

// The sender's offer: flags of the rendezvous packet, and the address of the data.
uint8_t Engine::offer(const Request& request, Peer& peer, uint64_t bytes, uint64_t& address,
                      shm::Exposure& exposure) {
  const PairProtocol& limits = pairs_.limits_for(request.key);
  if (bytes < std::min(limits.arena_bytes_min, limits.single_copy_bytes_min) ||
      !datatype::is_one_run(*request.type, request.count)) {
    return 0;
  }
  if (skew_aware_ && request.key.peer != self_ && cells_hold(limits, bytes) && peer.skew.prefers_cells())
    return 0;
  const std::byte* data = first_byte(request);
  if (bytes >= limits.arena_bytes_min && !peer.arena_declined) {
    if (!arena_->holds(data, bytes)) {
      arena_->note_private_message();
    } else if (request.key.peer == self_ ||
               offers_arena(peer, pairs_.at(request.key.peer).store_policy.near())) {
      exposure = arena_->expose(data, bytes);
    }
    if (exposure) {
      address = exposure.offset();
      return kInArena;
    }
  }
  if (bytes < limits.single_copy_bytes_min || peer.single_copy_declined) return 0;
  address = reinterpret_cast<uint64_t>(data);
  return kSingleCopy;
}

Engine::Copied Engine::copy_from_sender(ReceiveStream& stream, const Request& request) {
  const auto bytes = static_cast<size_t>(std::min(stream.total_bytes, request.count * request.type->size));
  profile::CopyTimer timer(recorder_, stream.from, bytes);
  Copied copied = Copied::whole;
  if (stream.flags & kInArena) {
    copied = copy_from_arena(stream, request, bytes) ? Copied::whole : Copied::never;
  } else if (!(stream.flags & kSingleCopy) || !datatype::is_one_run(*request.type, request.count)) {
    copied = Copied::not_now;
  } else if (stream.from != self_) {
    copied = copy_by_method(stream, first_byte(request), bytes);
  } else {
    // A message to self: the buffer's address is taken from the send request, not from the packet.
    const Request* sender = requests_.find_send(stream.cookie, self_);
    if (sender == nullptr || static_cast<int64_t>(bytes) > sender->count * sender->type->size) {
      shm::report_corruption("rank %d exposes to itself %zu bytes that it does not have", self_, bytes);
    }
    copy_bytes(first_byte(request), first_byte(*sender), bytes);
  }
  if (copied != Copied::whole) timer.forget();
  return copied;
}

bool Engine::copy_from_arena(ReceiveStream& stream, const Request& request, size_t bytes) {
  if (arena_ == nullptr || !arena_->usable()) return false;
  const std::byte* data =
      arena_->memory_of(place_of(stream.from), stream.address, static_cast<size_t>(stream.total_bytes));
  if (data == nullptr) return false;
  if (!datatype::is_one_run(*request.type, request.count)) {
    datatype::unpack(*request.type, request.buffer, 0, data, bytes);
    return true;
  }
  std::byte* const to = first_byte(request);
  shm::Exposure exposure;  // the sender may write there until copy_together() returns
  if (bytes >= pairs_.limits_for(stream.from, request.key.context).cooperative_bytes_min &&
      stream.from != self_) {
    exposure = arena_->expose(to, bytes);
  }
  if (exposure) {
    ReceivingFromArena copier(transport_, stream.from, to, data);
    return copy_together(stream, exposure.offset(), 0, bytes, single_copy::kPlainPieces, copier);
  }
  copy_to_buffer(stream.prefault, to, data, bytes);
  return true;
}

Engine::Copied Engine::copy_by_method(ReceiveStream& stream, std::byte* to, size_t bytes) {
  Peer& peer = peers_[static_cast<size_t>(stream.from)];
  const PairProtocol& limits = pairs_.limits_for(stream.from, stream.request->key.context);
  const auto address = reinterpret_cast<uint64_t>(to);
  const bool together = bytes >= limits.single_copy_cooperative_bytes_min && control_block_;
  single_copy::Method* method = reader_of(stream.from, peer);
  if (method != nullptr && (bytes < limits.single_copy_write_bytes_min || peer.writing_declined)) {
    const CmaAccess access(cma_block_of(stream.from, *method), limits.cma_accesses_max, place_of(self_));
    if (!access.allowed()) return Copied::not_now;
    ReceivingByMethod copier(transport_, stream, to, *method, peer.target);
    if (together ? copy_together(stream, address, kByMethod, bytes, single_copy::kSystemPieces, copier)
                 : copier.copy({0, bytes})) {
      return Copied::whole;
    }
    // A failure after the successful probe (a filter was installed, memory is short) is treated as permanent.
    peer.reading = Peer::Ability::refused;
  }
  if (peer.writing_declined || bytes == 0) return Copied::never;
  if (!request_cooperation(stream, {address, bytes, 0}, kByMethod | kAlone)) return Copied::not_now;
  stream.asked_to_write = true;
  return Copied::by_sender;
}

// Sends a request to copy to the sender. False: the ring is full.
bool Engine::request_cooperation(const ReceiveStream& stream, const CooperativeRequest& cooperative_request,
                                 uint8_t flags) {
  Status status;
  std::byte* line = transport_.claim(stream.from, sizeof cooperative_request, status);
  if (line == nullptr) return false;
  copy_bytes(shm::payload_at(line), &cooperative_request, sizeof cooperative_request);
  transport_.commit(stream.from, static_cast<uint8_t>(PacketKind::cooperative_request), flags,
                    sizeof cooperative_request, stream.cookie, 0);
  ++counters_.cooperative_requests;
  return true;
}

// The sender may be inside MPI, waiting for this message. The receiver asks it to copy too, and it joins if
// the request arrives in time.
bool Engine::copy_together(const ReceiveStream& stream, uint64_t to, uint8_t flags, size_t bytes,
                           const single_copy::PieceSizes& sizes, single_copy::Copier& copier) {
  shm::CopyControlBlock& control_block = *control_block_(self_);
  const uint16_t number = ++peers_[static_cast<size_t>(stream.from)].copied_together;
  const uint32_t mark = single_copy::copy_mark(static_cast<uint16_t>(stream.from), number);
  const single_copy::Message message = {mark, bytes, sizes};
  const single_copy::Piece first = single_copy::open_control_block(control_block, message);
  if (!request_cooperation(stream, {to, bytes, number}, flags)) return copier.copy({0, bytes});
  return single_copy::receive_pieces(control_block, message, first, copier);
}

// The sender's answer to a request to write the message.
bool Engine::on_written(PeerIndex from, uint32_t cookie, uint8_t flags) {
  ReceiveStream* stream = stream_of(from, cookie);
  if (stream == nullptr || !stream->asked_to_write) return false;
  stream->asked_to_write = false;
  if (flags & kNeverWritten) peers_[static_cast<size_t>(from)].writing_declined = true;
  if (flags & kNotWritten) return true;
  has_come(*stream);
  finish_if_whole(*stream);
  return true;
}

}  // namespace hearth::p2p
