// The receiver's half of a single copy: copies a message from the buffer that its sender offers, out of the
// arena by plain loads or by a single-copy method; from some length on together with the sender (cooperative
// copy); or asks the sender to write the message alone.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "p2p/counters.h"
#include "p2p/envelope.h"
#include "p2p/memory_access.h"
#include "p2p/pair_table.h"
#include "p2p/request_table.h"
#include "p2p/single_copy_policy.h"
#include "p2p/stream.h"
#include "shm/arena.h"
#include "single_copy/cooperative.h"
#include "transport/transport.h"

namespace hearth::p2p {

class OfferedCopies {
 public:
  /// `requests`: finds the buffer of a message to this process itself. `arena`: nullptr if there is none. The
  /// counters outlive this object.
  OfferedCopies(transport::Transport& transport, const RequestTable& requests, PairTable& pairs,
                MemoryAccess& access, shm::Arena* arena, profile::Recorder* recorder,
                EngineCounters& counters);

  enum class Copied : uint8_t {
    whole,      // the message has been copied
    by_sender,  // the sender was asked to write it and will answer with `written`
    not_now,    // it has to come in fragments
    never       // the same, and this protocol works for no message of this sender
  };
  Copied copy(ReceiveStream& stream, const Request& request);
  /// The whole message has come, in any way.
  void ended(const ReceiveStream& stream);
  /// The sender replied that it cannot write to this process.
  void writing_declined(PeerIndex from) { of(from).writing_declined = true; }

 private:
  struct Peer {
    SingleCopyPolicy policy;
    bool writing_declined = false;
    uint16_t copied_together = 0;  // cooperative copies from this peer, see single_copy/cooperative.h
  };

  Peer& of(PeerIndex peer) { return peers_[static_cast<size_t>(peer)]; }
  Copied copy_untimed(ReceiveStream& stream, const Request& request, size_t bytes);
  bool prefers_bounce_buffers(ReceiveStream& stream, const Request& request);
  void copy_from_self(const ReceiveStream& stream, const Request& request, size_t bytes) const;
  bool copy_from_arena(ReceiveStream& stream, const Request& request, size_t bytes);
  Copied copy_by_method(ReceiveStream& stream, const Request& request, size_t bytes);
  bool copy_together(const ReceiveStream& stream, uint64_t to, uint8_t flags, size_t bytes,
                     const single_copy::PieceSizes& sizes, single_copy::Copier& copier);
  bool request_cooperation(const ReceiveStream& stream, const CooperativeRequest& cooperative_request,
                           uint8_t flags);

  transport::Transport& transport_;
  const RequestTable& requests_;
  PairTable& pairs_;
  MemoryAccess& access_;
  shm::Arena* const arena_;
  profile::Recorder* const recorder_;
  EngineCounters& counters_;
  PeerTable<Peer> peers_;
};

}  // namespace hearth::p2p
