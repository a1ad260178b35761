// The contract of a transport: packets to and from every process that it reaches, in order per pair, none
// lost, none duplicated. One engine drives all transports (src/p2p). A transport knows nothing of matching,
// requests or datatypes: the engine packs directly into the memory that claim() returns.
//
// The pure virtual functions are sufficient for all of MPI. All others have a default, which means that the
// transport lacks the ability. Three abilities are interfaces of their own, which the engine obtains once,
// when it is created: bounce buffers and buffer transfers (below), and the local path (local_path.h).
//
// Called by one thread at a time, under the library's lock. tests/contract runs the same tests over every
// implementation. docs/design/adding_a_transport.md explains how to write one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/packet_header.h"
#include "base/peer_index.h"
#include "base/status.h"

namespace hearth::transport {

using hearth::PacketHeader;
using hearth::PeerIndex;

class LocalPath;  // local_path.h

/// Called for every packet that arrives. Header and payload are valid during the call only.
using PacketHandler = void (*)(void* receiver, PeerIndex from, const PacketHeader& header,
                               const std::byte* payload);

/// Maximum lengths between this process and one other.
struct Limits {
  uint64_t packet_bytes_max = 0;
  uint64_t fragment_bytes_max = 0;  // of a fragment in bounce buffers; 0: none between the two
};

/// Bounce buffers: memory of the sender that the receiver can read. A fragment takes a run of consecutive
/// buffers, named by the number of the first one. The sender takes and fills the run and announces it by a
/// packet; the receiver copies out of it and releases it. A receiver may instead refill a run with a message
/// for the owner, which then releases it (p2p/recycled_buffers.h). The defaults: there are none.
class BounceBuffers {
 public:
  virtual ~BounceBuffers() = default;
  /// Longest fragment that fits a run; 0: there are no bounce buffers.
  virtual size_t fragment_bytes_max() const { return 0; }
  struct RunOptions {
    /// Leaves room after the run, because it is written through the caches and the reader's processor may
    /// prefetch beyond its end.
    bool gap = false;
    /// Returns -1 if fewer bytes than this, and less than half of all buffers, would remain free.
    size_t bytes_left = 0;
    /// The sender has fragments in flight that may return soon: memory that was never used is taken only
    /// after some calls in vain.
    bool patient = false;
  };
  /// Takes a run for `bytes` bytes, or returns -1.
  virtual int take(size_t /*bytes*/, const RunOptions& /*options*/) { return -1; }
  /// The ticket by which returned() detects that the receiver has emptied a run: an own run, or a recycled
  /// one of `owner`.
  virtual uint32_t ticket(PeerIndex /*owner*/, int /*run*/) { return 0; }
  virtual bool returned(PeerIndex /*owner*/, int /*run*/, uint32_t /*ticket*/) { return false; }
  /// The memory of `bytes` bytes in a run, to be read or written; nullptr if there is no such run (a damaged
  /// packet).
  virtual std::byte* memory(PeerIndex /*owner*/, int /*run*/, size_t /*bytes*/) { return nullptr; }
  /// Releases a run, and wakes `from`, which has filled it and may wait for it.
  virtual void release(PeerIndex /*owner*/, int /*run*/, PeerIndex /*from*/) {}
};

/// Transfers of whole buffers beside the packets: the receiver posts its buffer and notifies the sender by a
/// packet, then the sender sends its buffer. At the end each side's handler is called with the header `over`,
/// as for a packet from the other process, but with a null payload, which no packet has. The transfers of one
/// pair and number match in the order of these calls. The defaults: there are none.
class BufferTransfers {
 public:
  virtual ~BufferTransfers() = default;
  virtual bool reaches(PeerIndex) const { return false; }
  /// False: the message has to be sent in packets.
  virtual bool await(PeerIndex /*from*/, uint32_t /*number*/, std::byte* /*buffer*/, size_t /*bytes*/,
                     const PacketHeader& /*over*/) {
    return false;
  }
  /// False: there is no room, try again after poll().
  virtual bool send(PeerIndex /*to*/, uint32_t /*number*/, const std::byte* /*buffer*/, size_t /*bytes*/,
                    const PacketHeader& /*over*/) {
    return false;
  }
};

class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// What the engine polls: poll(), without a call of a transport that only forwards it (`polled_`).
  int poll_directly(PacketHandler handler, void* receiver) { return polled_->poll(handler, receiver); }

  // Mandatory.
  virtual const char* name() const = 0;
  /// Longest payload of a packet to or from any process; at least kPacketBytesMin.
  virtual size_t packet_bytes_max() const = 0;
  /// Memory for the payload of a packet, also if that is empty; nullptr: there is no room, try again after
  /// poll(). Another claim without a commit is allowed. The first claim to a peer connects; errors (no memory
  /// for a ring) are returned in `status`.
  virtual std::byte* claim(PeerIndex to, size_t payload_bytes, Status& status) = 0;
  /// Sends the packet whose payload was written to the claimed memory.
  virtual void commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                      uint64_t match) = 0;
  /// Passes arrived packets to the handler, which may claim and commit; returns their number. Bounded work
  /// per call.
  virtual int poll(PacketHandler handler, void* receiver) = 0;
  // Flow control: the sender of eager messages stops while too much of them is unmatched at the receiver.
  /// KiB of this process's messages that are unmatched at `to`, as last published.
  virtual uint32_t unexpected_kib_at(PeerIndex to) = 0;
  /// Changes the count of bytes from a peer that are unmatched here. The peer must learn of it even if no
  /// packet is sent to it.
  virtual void add_unexpected_bytes(PeerIndex from, int64_t bytes) = 0;

  // Optional.
  virtual Limits limits_to(PeerIndex) { return {packet_bytes_max(), bounce_buffers().fragment_bytes_max()}; }
  /// Whether all committed packets have left this process, so that it may end. Mandatory for a transport
  /// whose commit() may leave a packet in this process.
  virtual bool quiet() const { return true; }
  /// Changes the order in which peers are polled; any order is correct (base/chaos.h).
  virtual void shuffle() {}

  // Liveness.
  /// Monitors a process, because this one waits for it and has to learn of its end in time. May be called
  /// again.
  virtual void watch(PeerIndex) {}
  /// Whether the process has certainly ended. Called after a long wait for it, not on the data path.
  virtual bool is_gone(PeerIndex) { return false; }

  // Sleep, of an idle thread, one at a time: prepare_sleep(), which returns the maximum sleep; then
  // everything is polled again; then sleep(), unless something arrived; then end_sleep(). Without these,
  // ranks poll.
  virtual uint64_t prepare_sleep() { return UINT64_MAX; }
  /// Called without the library's lock.
  virtual void sleep(uint64_t /*timeout_ns*/) {}
  /// `slept`: whether sleep() was called.
  virtual void end_sleep(bool /*slept*/) {}
  /// Wakes the sleeping thread of this process, if there is one.
  virtual void wake_own() {}

  // Abilities; the references are valid as long as the transport.
  virtual BounceBuffers& bounce_buffers();
  virtual BufferTransfers& buffer_transfers();
  virtual LocalPath& local_path();

 protected:
  /// The transport whose poll() has the same effect with the fewest calls. A wait polls without pause, and
  /// one more virtual call takes some percent of the time of a short message.
  Transport* polled_ = this;
};

/// Packets of the engine's protocols are at most this long, apart from the data that they carry.
constexpr size_t kPacketBytesMin = 48;

}  // namespace hearth::transport
