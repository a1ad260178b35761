// Long messages that are copied once, from the sender's buffer to the receiver's: out of the arena by plain
// loads, from some length on by both sides; else by the kernel. The sender lends its buffer until `finished`
// comes; a receiver that cannot copy answers clear_to_send, and the message goes through cells.
#include <algorithm>

#include "base/copy.h"
#include "datatype/type.h"
#include "p2p/engine.h"
#include "single_copy/cooperative.h"

namespace hearth::p2p {
namespace {

// Of so many messages that the arena could carry one, the first to begin with, goes through cells, which
// tells the filler how far away the receiver is: it may have moved. What a receiver without a shared cache
// reads from a buffer is dear to write again, dearer than cells are.
constexpr uint32_t kOffersPerLook = 64;

std::byte* first_byte(const Request& request) {
  return static_cast<std::byte*>(request.buffer) + request.type->true_lower_bound;
}

}  // namespace

bool Engine::cells_hold(const Peer& peer, uint64_t bytes) const {
  return bytes <= peer.protocol.part_bytes_max * static_cast<uint64_t>(peer.protocol.cells_in_flight_max);
}

// What the sender offers: flags of the rendezvous packet, and where the bytes lie.
uint8_t Engine::offer(const Request& request, Peer& peer, uint64_t bytes, uint64_t& address) {
  if (bytes < std::min(peer.protocol.arena_bytes_min, peer.protocol.single_copy_bytes_min) ||
      !datatype::is_one_run(*request.type, request.count)) {
    return 0;
  }
  if (skew_aware_ && request.key.peer != self_ && cells_hold(peer, bytes) && peer.skew.prefers_cells())
    return 0;
  const std::byte* data = first_byte(request);
  if (bytes >= peer.protocol.arena_bytes_min && !peer.arena_declined && arena_->holds(data, bytes) &&
      (request.key.peer == self_ || (peer.filler.near() && peer.arena_offers++ % kOffersPerLook != 0))) {
    address = arena_->offset_of(data);
    return kInArena;
  }
  if (bytes < peer.protocol.single_copy_bytes_min || peer.single_copy_declined) return 0;
  address = reinterpret_cast<uint64_t>(data);
  return kSingleCopy;
}

// False: nothing was offered, or it does not work here.
bool Engine::copy_from_sender(const ReceiveStream& stream, const Request& request) {
  const auto bytes = static_cast<size_t>(std::min(stream.total_bytes, request.count * request.type->size));
  if (stream.flags & kInArena) return copy_from_arena(stream, request, bytes);
  if (!(stream.flags & kSingleCopy) || !datatype::is_one_run(*request.type, request.count)) return false;
  if (stream.from == self_) {
    copy_bytes(first_byte(request), reinterpret_cast<const void*>(stream.address), bytes);
    return true;
  }
  Peer& peer = know(stream.from);
  if (peer.single_copy == Peer::SingleCopy::untried) {
    peer.single_copy =
        single_copy::cma().probe(peer.target) ? Peer::SingleCopy::works : Peer::SingleCopy::refused;
  }
  if (peer.single_copy != Peer::SingleCopy::works) return false;
  // A later refusal (a filter installed, memory short) falls back like an early one: the sender sends all.
  if (single_copy::cma().read(peer.target, first_byte(request), stream.address, bytes)) return true;
  peer.single_copy = Peer::SingleCopy::refused;
  return false;
}

bool Engine::copy_from_arena(const ReceiveStream& stream, const Request& request, size_t bytes) {
  if (arena_ == nullptr || !arena_->usable()) return false;
  const std::byte* data =
      arena_->memory_of(stream.from, stream.address, static_cast<size_t>(stream.total_bytes));
  if (data == nullptr) return false;
  if (!datatype::is_one_run(*request.type, request.count)) {
    datatype::unpack(*request.type, request.buffer, 0, data, bytes);
  } else if (std::byte* to = first_byte(request); bytes >= know(stream.from).protocol.cooperative_bytes_min &&
                                                  stream.from != self_ && arena_->holds(to, bytes)) {
    copy_together(stream.from, stream.cookie, to, data, bytes);
  } else {
    copy_bytes(to, data, bytes);
  }
  return true;
}

// The sender may be inside MPI, waiting for this very message: it is asked to help, and does if it comes in
// time.
void Engine::copy_together(PeerIndex from, uint32_t cookie, std::byte* to, const std::byte* data,
                           size_t bytes) {
  Status status;
  std::byte* line = transport_.claim(from, sizeof(Invitation), status);
  if (line == nullptr) return copy_bytes(to, data, bytes);
  shm::CopyDesk& desk = *desk_(self_);
  const uint16_t number = ++peers_[static_cast<size_t>(from)].copied_together;
  const uint32_t mark = single_copy::desk_mark(static_cast<uint16_t>(from), number);
  single_copy::Piece piece = single_copy::open_desk(desk, mark, bytes);
  const Invitation invitation = {arena_->offset_of(to), bytes, number};
  copy_bytes(shm::payload_at(line), &invitation, sizeof invitation);
  transport_.commit(from, static_cast<uint8_t>(PacketKind::invitation), 0, sizeof invitation, cookie, 0);
  ++counters_.invitations;
  size_t copied_here = 0;
  for (; piece.bytes > 0; piece = single_copy::take_piece(desk, mark, bytes)) {
    copy_bytes(to + piece.at, data + piece.at, piece.bytes);
    copied_here += piece.bytes;
  }
  single_copy::await_pieces(desk, bytes - copied_here);
}

void Engine::on_invitation(const Request& request, const std::byte* payload) {
  Invitation invitation;
  copy_bytes(&invitation, payload, sizeof invitation);
  const PeerIndex receiver = request.key.peer;
  if (invitation.bytes > static_cast<uint64_t>(request.count * request.type->size) || arena_ == nullptr ||
      !arena_->usable()) {
    return;
  }
  std::byte* to = arena_->memory_of(receiver, invitation.to_offset, invitation.bytes);
  if (to == nullptr) return;
  const std::byte* data = first_byte(request);
  shm::CopyDesk& desk = *desk_(receiver);
  const uint32_t mark =
      single_copy::desk_mark(static_cast<uint16_t>(self_), static_cast<uint16_t>(invitation.number));
  for (;;) {
    const single_copy::Piece piece = single_copy::take_piece(desk, mark, invitation.bytes);
    if (piece.bytes == 0) return;
    copy_bytes(to + piece.at, data + piece.at, piece.bytes);
    single_copy::report_piece(desk, piece);
    counters_.bytes_helped += piece.bytes;
  }
}

}  // namespace hearth::p2p
