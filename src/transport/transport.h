// The contract of a transport: packets to and from every process that it reaches, in order per pair, none
// lost, none duplicated; and bounce buffers, memory of the sender that the receiver can read. One engine
// drives all transports (src/p2p). A transport knows nothing of matching, requests or datatypes: the engine
// packs directly into the memory that claim() returns.
//
// Called by one thread at a time, under the library's lock. tests/contract runs the same tests over every
// implementation. docs/design/adding_a_transport.md explains how to write one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/peer_index.h"
#include "base/status.h"
#include "shm/ring.h"
#include "single_copy/single_copy.h"

namespace hearth::transport {

using hearth::PeerIndex;
using shm::PacketHeader;

/// Called for every packet that arrives. Header and payload are valid during the call only.
using PacketHandler = void (*)(void* receiver, PeerIndex from, const PacketHeader& header,
                               const std::byte* payload);

/// Maximum lengths between this process and one other.
struct Limits {
  uint64_t packet_bytes_max = 0;
  uint64_t part_bytes_max = 0;  // 0: no bounce buffers between the two
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual const char* name() const = 0;
  /// Longest payload of a packet to or from any process.
  virtual size_t packet_bytes_max() const = 0;
  virtual Limits limits_to(PeerIndex) const { return {packet_bytes_max(), part_bytes_max()}; }

  /// Memory for a packet, or nullptr: there is no room, try again after poll(). The first claim to a peer
  /// connects. Errors (no memory for a ring) are returned in `status`.
  virtual std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) = 0;
  /// Sends the packet that was written to the claimed memory.
  virtual void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                      uint64_t match) = 0;
  /// The direct ring to a peer, for writes without a call of the transport, or nullptr.
  virtual shm::RingWriter* direct_ring_to(PeerIndex) { return nullptr; }
  /// The direct ring from a peer, for reads without a call of the transport, or nullptr.
  virtual shm::RingReader* direct_ring_from(PeerIndex) { return nullptr; }

  // Prefetch for write, by a blocked process: fetches the memory that it will write next from other
  // processors' caches.
  /// The memory of the next packet with this payload; false if there is no room.
  virtual bool prefetch_room(PeerIndex, size_t /*payload_bytes*/) { return false; }
  /// One more of the next cells, up to `bytes_ahead`; false if there is none.
  virtual bool prefetch_cell(size_t /*bytes_ahead*/) { return false; }

  /// Passes arrived packets to the handler; returns their number. Bounded work per call.
  virtual int poll(PacketHandler handler, void* receiver) = 0;
  /// Changes the order in which peers are polled; any order is correct (base/chaos.h).
  virtual void shuffle() {}
  /// Whether all committed packets have left this process, so that it may end.
  virtual bool quiet() const { return true; }

  // Whole-buffer transfers beside the packets, for networks that support them: the receiver posts its buffer
  // and notifies the sender by a packet, then the sender sends its buffer. At the end each side's handler is
  // called with the header `over`, as for a packet from the other process, but with a null payload, which no
  // packet has. The transfers of one pair and number match in the order of these calls.
  virtual bool carries_buffers(PeerIndex) const { return false; }
  /// False: the message has to be sent in packets.
  virtual bool await_buffer(PeerIndex /*from*/, uint32_t /*number*/, std::byte* /*buffer*/, size_t /*bytes*/,
                            const PacketHeader& /*over*/) {
    return false;
  }
  /// False: there is no room, try again after poll().
  virtual bool send_buffer(PeerIndex /*to*/, uint32_t /*number*/, const std::byte* /*buffer*/,
                           size_t /*bytes*/, const PacketHeader& /*over*/) {
    return false;
  }

  /// KiB of this process's messages that are unmatched at `to`, as last published.
  virtual uint32_t unexpected_kib_at(PeerIndex to) = 0;
  /// Changes the count of bytes from a peer that are unmatched here.
  virtual void add_unexpected_bytes(PeerIndex from, int64_t bytes) = 0;

  // Bounce buffers: shm/cells.h describes their life cycle. A transport without them keeps these defaults.
  /// Longest fragment that may be put into consecutive cells; 0: there are no bounce buffers.
  virtual size_t part_bytes_max() const { return 0; }
  /// Takes consecutive cells for so many bytes; returns the number of the first one, or -1. `gap`: leaves
  /// room behind them, because they are written through the caches and the reader's processor may prefetch
  /// past their end.
  virtual int take_cells(size_t /*bytes*/, bool /*gap*/) { return -1; }
  /// The ticket by which cell_returned() detects that the receiver has emptied a run: of own cells, or of
  /// recycled cells of `owner`.
  virtual uint32_t cell_ticket(PeerIndex /*owner*/, int /*cell*/) { return 0; }
  virtual bool cell_returned(PeerIndex /*owner*/, int /*cell*/, uint32_t /*ticket*/) { return false; }
  /// The memory of `bytes` bytes in the cells of a process, to be read or written. nullptr if there are no
  /// such cells (a damaged packet).
  virtual std::byte* cells_of(PeerIndex /*owner*/, int /*cell*/, size_t /*bytes*/) { return nullptr; }
  /// Releases a run of cells, and wakes `from`, which has filled it and may wait for it.
  virtual void mark_cell_free(PeerIndex /*owner*/, int /*cell*/, PeerIndex /*from*/) {}

  /// The single-copy target of a process on this machine; false if it is on another one.
  virtual bool target_of(PeerIndex, single_copy::Target&) { return false; }
  /// Monitors a process, because this one waits for it and has to learn of its end in time. May be called
  /// again.
  virtual void watch(PeerIndex) {}
  /// Whether the process has certainly ended. Called after a long wait for it, not on the data path.
  virtual bool is_gone(PeerIndex) { return false; }

  // Called by an idle thread, one at a time: prepare_sleep(), which returns the maximum sleep; then
  // everything is polled again; then either cancel_sleep(), or sleep() and end_sleep() (shm/wait.h). A
  // transport that cannot sleep keeps these defaults.
  virtual uint64_t prepare_sleep() { return UINT64_MAX; }
  virtual void cancel_sleep() {}
  /// Called without the library's lock.
  virtual void sleep(uint64_t /*timeout_ns*/) {}
  virtual void end_sleep() {}
  /// Wakes the sleeping thread of this process, if there is one.
  virtual void wake_own() {}
};

}  // namespace hearth::transport
