// What travels between two engines: the kinds of packets and their payloads. The header's match word holds
// tag and context; its cookie names a request of the sender's (the slot in its pool), so that answers
// find it.
//
//   eager            the whole message
//   rendezvous       a long message begins: its length, where it lies, and the cells filled so far
//   cells            more cells of a long message
//   fragment         a piece of a long message inside the ring, when no cell is free
//   clear_to_send    receiver to sender: matched, send the rest (only where the sender waits for it)
//   finished         receiver to sender: copied straight from your memory
//   invitation       receiver to sender: help to copy your message into my buffer, or copy it alone
//   written          sender to receiver: your buffer has it all, or it comes another way
//   matched          receiver to sender: your synchronous message has met its receive
//   revoked          to all members: the communicator of this context (the cookie) is not used any more
//   recall           sender to receiver: give back the cells of this message that you keep (kept_cells.h)
//
// Two are made by the transport itself, when a buffer that it carries beside the packets is over:
//   buffer_came      all of it is in the receiver's memory
//   buffer_left      the sender may use its own again
//
// Packets of one pair arrive in the order in which they were committed, so pieces carry no offset.
#pragma once

#include <cstddef>
#include <cstdint>

#include "objects/group.h"
#include "shm/ring.h"

namespace hearth::p2p {

using objects::PeerIndex;

enum class PacketKind : uint8_t {
  eager = 1,
  rendezvous,
  cells,
  fragment,
  clear_to_send,
  finished,
  matched,
  invitation,
  written,
  revoked,
  recall,
  buffer_came,
  buffer_left,
  died,
};

/// Packets that speak of a message that this process sent, or lent its buffer for.
constexpr bool is_answer(uint8_t kind) {
  switch (static_cast<PacketKind>(kind)) {
    case PacketKind::clear_to_send:
    case PacketKind::finished:
    case PacketKind::matched:
    case PacketKind::invitation:
    case PacketKind::written:
    case PacketKind::buffer_came:
    case PacketKind::buffer_left:
      return true;
    default:
      return false;
  }
}

/// Flags of eager and rendezvous packets.
constexpr uint8_t kSynchronous = 1;  // answer with `matched`
constexpr uint8_t kSingleCopy = 2;   // rendezvous: the receiver may copy from `address`
constexpr uint8_t kInArena = 4;      // rendezvous: `address` is an offset in the sender's window of the arena
constexpr uint8_t kInOneRun = 8;     // rendezvous: the transport may carry the buffer itself
/// Flags of clear_to_send: this does not work between us; do not offer it again.
constexpr uint8_t kNoSingleCopy = 1;
constexpr uint8_t kNoArena = 2;
/// And: the receive buffer awaits the whole message (transport/transport.h).
constexpr uint8_t kBufferAwaited = 4;
/// Flags of an invitation.
constexpr uint8_t kByMethod = 1;  // the buffer is an address for a single-copy method, no offset in the arena
constexpr uint8_t kAlone = 2;     // the sender copies all of it and answers with `written`
/// Flags of `written`: the bytes come through cells; do not ask this process to write any more.
constexpr uint8_t kNotWritten = 1;
constexpr uint8_t kNeverWritten = 2;

/// A part of a message that lies in a cell of its sender, or in one of its receiver's (kept_cells.h).
struct CellPart {
  uint32_t cell;   // with kCellOfReceiver
  uint32_t bytes;  // 0: no part
};
constexpr uint32_t kCellOfReceiver = uint32_t{1} << 31;

/// Of a rendezvous packet; `cells` packets bring one further part. Where nothing is lent the address is left
/// out: a packet of one slot lies in one line wherever it begins.
struct RendezvousStart {
  uint64_t bytes;
  CellPart part;
  uint64_t address;  // with kSingleCopy or kInArena
};
constexpr size_t rendezvous_bytes(uint8_t flags) {
  return flags & (kSingleCopy | kInArena) ? sizeof(RendezvousStart) : offsetof(RendezvousStart, address);
}

/// See single_copy/cooperative.h.
struct Invitation {
  uint64_t to;  // the receiver's buffer: an offset in its window of the arena, or an address
  uint64_t bytes;
  uint64_t number;  // of the messages of this pair that were copied together
};

static_assert(sizeof(RendezvousStart) <= shm::kLineBytes - shm::kHeaderBytes, "one line");
static_assert(rendezvous_bytes(0) <= shm::kSlotBytes - shm::kHeaderBytes, "one slot");
static_assert(sizeof(CellPart) <= shm::kSlotBytes - shm::kHeaderBytes, "one slot");
static_assert(sizeof(Invitation) <= shm::kLineBytes - shm::kHeaderBytes, "one line");

constexpr uint64_t match_word(uint32_t context, int tag) {
  return uint64_t{context} << 32 | static_cast<uint32_t>(tag);
}
constexpr uint32_t context_of(uint64_t match) {
  return static_cast<uint32_t>(match >> 32);
}
constexpr int tag_of(uint64_t match) {
  return static_cast<int>(static_cast<uint32_t>(match));
}

}  // namespace hearth::p2p
