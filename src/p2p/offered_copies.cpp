#include "p2p/offered_copies.h"

#include <algorithm>

#include "base/copy.h"
#include "base/os_wait.h"
#include "datatype/type.h"
#include "p2p/cma_access.h"
#include "profile/recorder.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

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
  ReceivingFromArena(transport::Transport& transport, PeerIndex from, std::byte* to, const std::byte* data,
                     uint64_t bytes)
      : Receiving(transport, from), to_(to), data_(data), bytes_(bytes) {}
  bool copy(const single_copy::Piece& piece) override {
    copy_shared_bytes(to_ + piece.at, data_ + piece.at, piece.bytes, bytes_);
    return true;
  }

 private:
  std::byte* const to_;
  const std::byte* const data_;
  const uint64_t bytes_;
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
    copy_shared_bytes(to + at, data + at, kStepBytes, bytes);
  }
  copy_shared_bytes(to + at, data + at, bytes - at, bytes);
}

}  // namespace

OfferedCopies::OfferedCopies(transport::Transport& transport, const RequestTable& requests, PairTable& pairs,
                             MemoryAccess& access, shm::Arena* arena, profile::Recorder* recorder,
                             EngineCounters& counters)
    : transport_(transport),
      requests_(requests),
      pairs_(pairs),
      access_(access),
      arena_(arena),
      recorder_(recorder),
      counters_(counters),
      peers_(pairs.room()) {}

OfferedCopies::Copied OfferedCopies::copy(ReceiveStream& stream, const Request& request) {
  const auto bytes = static_cast<size_t>(std::min(stream.total_bytes, request.count * request.type->size));
  profile::CopyTimer timer(recorder_, stream.from, bytes);
  const Copied copied = copy_untimed(stream, request, bytes);
  if (copied != Copied::whole) timer.forget();
  return copied;
}

OfferedCopies::Copied OfferedCopies::copy_untimed(ReceiveStream& stream, const Request& request,
                                                  size_t bytes) {
  if (stream.flags & kInArena) {
    return copy_from_arena(stream, request, bytes) ? Copied::whole : Copied::never;
  }
  if (!(stream.flags & kSingleCopy) || !datatype::is_one_run(*request.type, request.count)) {
    return Copied::not_now;
  }
  if (stream.from == access_.self()) {
    copy_from_self(stream, request, bytes);
    return Copied::whole;
  }
  return prefers_bounce_buffers(stream, request) ? Copied::not_now : copy_by_method(stream, request, bytes);
}

// Begins to measure a message for which both ways are open.
bool OfferedCopies::prefers_bounce_buffers(ReceiveStream& stream, const Request& request) {
  const PairProtocol& limits = pairs_.limits_for(stream.from, request.key.context);
  if (static_cast<uint64_t>(stream.total_bytes) >= limits.single_copy_bytes_min) return false;
  stream.measured_since_ns = os::now_ns();
  stream.by_single_copy = of(stream.from).policy.choose();
  return !stream.by_single_copy;
}

void OfferedCopies::ended(const ReceiveStream& stream) {
  if (stream.measured_since_ns == 0 || stream.total_bytes == 0) return;
  of(stream.from)
      .policy.update(stream.by_single_copy, static_cast<uint64_t>(stream.total_bytes),
                     os::now_ns() - stream.measured_since_ns);
}

// A message to self: the buffer's address is taken from the send request, not from the packet.
void OfferedCopies::copy_from_self(const ReceiveStream& stream, const Request& request, size_t bytes) const {
  const Request* sender = requests_.find_send(stream.cookie, access_.self());
  if (sender == nullptr || static_cast<int64_t>(bytes) > sender->count * sender->type->size) {
    shm::report_corruption("rank %d exposes to itself %zu bytes that it does not have", access_.self(),
                           bytes);
  }
  copy_bytes(first_byte(request), first_byte(*sender), bytes);
}

bool OfferedCopies::copy_from_arena(ReceiveStream& stream, const Request& request, size_t bytes) {
  const std::byte* data =
      access_.arena_memory_of(stream.from, stream.address, static_cast<size_t>(stream.total_bytes));
  if (data == nullptr) return false;
  if (!datatype::is_one_run(*request.type, request.count)) {
    datatype::unpack(*request.type, request.buffer, 0, data, bytes);
    return true;
  }
  std::byte* const to = first_byte(request);
  shm::Exposure exposure;  // the sender may write there until copy_together() returns
  if (bytes >= pairs_.limits_for(stream.from, request.key.context).cooperative_bytes_min &&
      arena_ != nullptr && stream.from != access_.self()) {
    exposure = arena_->expose(to, bytes);
  }
  if (exposure) {
    ReceivingFromArena copier(transport_, stream.from, to, data, bytes);
    return copy_together(stream, exposure.offset(), 0, bytes, single_copy::kPlainPieces, copier);
  }
  copy_to_buffer(stream.prefault, to, data, bytes);
  return true;
}

OfferedCopies::Copied OfferedCopies::copy_by_method(ReceiveStream& stream, const Request& request,
                                                    size_t bytes) {
  std::byte* const to = first_byte(request);
  const Peer& peer = of(stream.from);
  const PairProtocol& limits = pairs_.limits_for(stream.from, request.key.context);
  const auto address = reinterpret_cast<uint64_t>(to);
  const bool together =
      bytes >= limits.single_copy_cooperative_bytes_min && access_.has_control_blocks(stream.from);
  single_copy::Method* method = access_.reader_of(stream.from);
  if (method != nullptr && (bytes < limits.single_copy_write_bytes_min || peer.writing_declined)) {
    const CmaAccess access(access_.counted_block(stream.from, *method), limits.cma_accesses_max,
                           access_.own_local_rank(stream.from));
    if (!access.allowed()) return Copied::not_now;
    ReceivingByMethod copier(transport_, stream, to, *method, access_.target_of(stream.from));
    if (together ? copy_together(stream, address, kByMethod, bytes, single_copy::kSystemPieces, copier)
                 : copier.copy({0, bytes})) {
      return Copied::whole;
    }
    access_.refuse_reading(stream.from);
  }
  if (peer.writing_declined || bytes == 0) return Copied::never;
  if (!request_cooperation(stream, {address, bytes, 0}, kByMethod | kAlone)) return Copied::not_now;
  stream.asked_to_write = true;
  return Copied::by_sender;
}

// Sends a request to copy to the sender. False: the ring is full.
bool OfferedCopies::request_cooperation(const ReceiveStream& stream,
                                        const CooperativeRequest& cooperative_request, uint8_t flags) {
  Status status;
  std::byte* line = transport_.claim(stream.from, sizeof cooperative_request, status);
  if (line == nullptr) return false;
  copy_bytes(line, &cooperative_request, sizeof cooperative_request);
  transport_.commit(stream.from, static_cast<uint8_t>(PacketKind::cooperative_request), flags,
                    sizeof cooperative_request, stream.cookie, 0);
  ++counters_.cooperative_requests;
  return true;
}

// The sender may be inside MPI, waiting for this message. The receiver asks it to copy too, and it joins if
// the request arrives in time.
bool OfferedCopies::copy_together(const ReceiveStream& stream, uint64_t to, uint8_t flags, size_t bytes,
                                  const single_copy::PieceSizes& sizes, single_copy::Copier& copier) {
  shm::CopyControlBlock& control_block = access_.own_control_block(stream.from);
  const uint16_t number = ++of(stream.from).copied_together;
  const uint32_t mark =
      single_copy::copy_mark(static_cast<uint16_t>(access_.local_rank_of(stream.from)), number);
  const single_copy::Message message = {mark, bytes, sizes};
  const single_copy::Piece first = single_copy::open_control_block(control_block, message);
  if (!request_cooperation(stream, {to, bytes, number}, flags)) return copier.copy({0, bytes});
  return single_copy::receive_pieces(control_block, message, first, copier);
}

}  // namespace hearth::p2p
