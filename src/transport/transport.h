// The contract of a transport: packets to and from every process that it reaches, in order for each pair,
// none lost, none twice; and cells, memory of the sender that the receiver can read. One engine drives all
// transports (src/p2p); a transport knows nothing of matching, requests or datatypes: the engine packs
// straight into the room that claim() gives.
//
// Called by one thread at a time, under the library's lock. tests/contract runs the same tests over every
// implementation. docs/design/adding_a_transport.md tells how to write one.
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

/// What fits at most on the way to one process.
struct Limits {
  uint64_t packet_bytes_max = 0;
  uint64_t part_bytes_max = 0;  // 0: no cells lie between the two
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual const char* name() const = 0;
  /// Longest payload of a packet to or from anybody.
  virtual size_t packet_bytes_max() const = 0;
  virtual Limits limits_to(PeerIndex) const { return {packet_bytes_max(), part_bytes_max()}; }

  /// Room for a packet, or nullptr: the way is full, try again after poll(). The first claim to a peer
  /// connects. Errors (no memory for a ring) are told by `status`.
  virtual std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) = 0;
  /// Sends the packet that was written to the claimed place.
  virtual void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                      uint64_t match) = 0;
  /// The ring to a peer where it can be written without a call in between, or nullptr.
  virtual shm::RingWriter* lane_to(PeerIndex) { return nullptr; }
  /// The ring from a peer where it can be read without a call in between, or nullptr.
  virtual shm::RingReader* lane_from(PeerIndex) { return nullptr; }

  // For a process that waits and so has time: what it will write next to is taken out of others' caches.
  /// The room of the next packet of so many bytes; false when there is no such room.
  virtual bool bring_room_over(PeerIndex, size_t /*payload_bytes*/) { return false; }
  /// One more of the next cells, as far as `bytes_ahead`; false when there is none.
  virtual bool bring_cell_over(size_t /*bytes_ahead*/) { return false; }

  /// Hands packets that have arrived to the handler; how many. Bounded work per call.
  virtual int poll(PacketHandler handler, void* receiver) = 0;
  /// Changes the order in which peers are looked at: any is right (base/chaos.h).
  virtual void shuffle() {}
  /// Whether all that was committed has left this process, so that it may end.
  virtual bool quiet() const { return true; }

  // Whole buffers, beside the packets, where the network carries them better than any packet: the receiver
  // names where it wants them, tells the sender by a packet, and the sender lends its own. Each side hears of
  // the end by a packet from the other process with the header `over`, which only it can make. Of one pair
  // and number the first that is sent is the first that was awaited.
  virtual bool carries_buffers(PeerIndex) const { return false; }
  /// False where this one has to go in packets.
  virtual bool await_buffer(PeerIndex /*from*/, uint32_t /*number*/, std::byte* /*buffer*/, size_t /*bytes*/,
                            const PacketHeader& /*over*/) {
    return false;
  }
  /// False when the way is full.
  virtual bool send_buffer(PeerIndex /*to*/, uint32_t /*number*/, const std::byte* /*buffer*/,
                           size_t /*bytes*/, const PacketHeader& /*over*/) {
    return false;
  }

  /// KiB of this process's messages that wait unmatched at `to`, as last heard.
  virtual uint32_t unexpected_kib_at(PeerIndex to) = 0;
  /// Changes the count of bytes from a peer that wait unmatched here.
  virtual void add_unexpected_bytes(PeerIndex from, int64_t bytes) = 0;

  // Cells: see shm/cells.h for the life of one. A transport without them leaves these as they are.
  /// Longest piece of a message that may be put into cells at once; 0: there are none.
  virtual size_t part_bytes_max() const { return 0; }
  /// Consecutive cells for so many bytes: the first one's number, or -1. `gap`: leave room behind them, since
  /// they are written through the caches and the reader's processor may fetch ahead past their end.
  virtual int take_cells(size_t /*bytes*/, bool /*gap*/) { return -1; }
  /// By what it can be told that the receiver has emptied the run: of own cells, or of the owner's that this
  /// process fills in its place.
  virtual uint32_t cell_ticket(PeerIndex /*owner*/, int /*cell*/) { return 0; }
  virtual bool cell_returned(PeerIndex /*owner*/, int /*cell*/, uint32_t /*ticket*/) { return false; }
  /// So many bytes in the cells of a process: what it has filled, or what is to be filled. nullptr when they
  /// are not there (a damaged packet).
  virtual std::byte* cells_of(PeerIndex /*owner*/, int /*cell*/, size_t /*bytes*/) { return nullptr; }
  /// `from` has filled it, and may be waiting for it.
  virtual void mark_cell_free(PeerIndex /*owner*/, int /*cell*/, PeerIndex /*from*/) {}

  /// Where the memory of a process on this machine is; false when it is on another.
  virtual bool target_of(PeerIndex, single_copy::Target&) { return false; }
  /// Somebody waits for that process: whoever tells of its end is to know it in time. May be said again.
  virtual void watch(PeerIndex) {}
  /// Whether that process has certainly ended. Asked by who has waited for it, not on the data path.
  virtual bool is_gone(PeerIndex) { return false; }

  // Called by a thread that has nothing to do, one at a time: prepare, which says how long it may sleep;
  // look at everything again; then either cancel, or sleep and end (shm/wait.h). A transport by which nobody
  // sleeps leaves these as they are.
  virtual uint64_t prepare_sleep() { return UINT64_MAX; }
  virtual void cancel_sleep() {}
  /// Called without the library's lock.
  virtual void sleep(uint64_t /*timeout_ns*/) {}
  virtual void end_sleep() {}
  /// Wakes the thread of this process that sleeps, if one does.
  virtual void wake_own() {}
};

}  // namespace hearth::transport
