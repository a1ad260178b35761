// Rendezvous, the sender's side: long messages that this process sends. A packet announces the message, with
// the first fragment or the address of the data; further fragments follow through bounce buffers or the ring,
// or the transport transfers the whole buffer, or the receiver copies it (copy_offers.h). long_receives.h has
// the receiver's side and the picture of both.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/peer_table.h"
#include "base/pool.h"
#include "p2p/answers.h"
#include "p2p/bounce_buffers.h"
#include "p2p/copy_offers.h"
#include "p2p/counters.h"
#include "p2p/deferred_work.h"
#include "p2p/pair_table.h"
#include "p2p/request_table.h"
#include "p2p/stream.h"
#include "shm/layout.h"
#include "transport/transport.h"

namespace hearth::p2p {

class LongSends {
 public:
  struct Parts {
    transport::Transport& transport;
    RequestTable& requests;
    PairTable& pairs;
    BounceBuffers& buffers;
    CopyOffers& offers;
    Answers& answers;
    DeferredWork& deferred;
    const FatalErrors& errors;
    profile::Recorder* recorder;  // nullptr: no profile
    shm::LongTraffic* traffic;    // nullptr: not counted in the segment
    EngineCounters& counters;
  };
  LongSends(PeerIndex self, const Parts& parts);

  /// Announces a message. `held`: without a fragment, because the receiver has no room for unmatched
  /// messages. False: the ring has no room, and nothing was sent. The request may be destroyed.
  bool start(Request& request, bool held);
  /// Whether a message to that peer waits for bounce buffers or for its match.
  bool any_unfinished_to(PeerIndex to) const { return unfinished_[static_cast<size_t>(to)] != 0; }
  /// Whether any message could send further fragments.
  bool any_sending() const { return !sending_.empty(); }
  /// Sends further fragments; returns whether any was sent.
  bool push_all();
  /// Changes the order of messages (base/chaos.h).
  void shuffle();
  /// Ends a send with an error, in whatever state it is.
  void end(Request& request, Status status);
  /// Appends the sends for which the function returns true. `exposed_too`: also those whose buffer a receiver
  /// may read.
  template <class Predicate>
  void find(const Predicate& predicate, bool exposed_too, std::vector<Request*>& found) const {
    for (size_t slot = 0; slot < streams_.slots_used(); ++slot) {
      const SendStream* stream = streams_.at(slot);
      if (stream == nullptr || (stream->offered != 0 && !exposed_too)) continue;
      if (predicate(*stream->request)) found.push_back(stream->request);
    }
  }

  // Packets of the receiver. False: the packet is invalid. The request may be destroyed.
  bool on_clear_to_send(Request& request, uint8_t flags);
  bool on_finished(Request& request);
  bool on_matched(Request& request);
  bool on_buffer_left(Request& request);
  bool on_cooperative_request(Request& request, uint8_t flags, const std::byte* payload);
  /// A fragment of a peer arrived in this run: an earlier fragment of this process in it counts as read.
  void note_answer(PeerIndex from, const Fragment& fragment);

  size_t pool_bytes() const { return streams_.bytes_used(); }

 private:
  SendStream* make_stream();
  void announce(Request& request, SendStream& stream, bool held, CopyOffers::Offer& offer, std::byte* line);
  bool push(SendStream& stream);
  bool push_fragments(SendStream& stream);
  bool push_buffered_fragment(SendStream& stream, std::byte* line);
  bool push_ring_fragment(SendStream& stream);
  bool push_buffer(SendStream& stream);
  bool push_answer(SendStream& stream);
  void resume(SendStream& stream);
  void finish(SendStream& stream);
  void destroy(SendStream& stream);
  void retire(SendStream& stream);
  void recall(SendStream& stream);
  bool fill_fragment(SendStream& stream, Fragment& fragment);
  bool take_recycled(const SendStream& stream, int64_t& bytes, Fragment& run);
  int take_buffers(SendStream& stream, int64_t& bytes);

  const PeerIndex self_;
  transport::Transport& transport_;
  transport::BounceBuffers& runs_;
  transport::BufferTransfers& transfers_;
  RequestTable& requests_;
  PairTable& pairs_;
  BounceBuffers& buffers_;
  CopyOffers& offers_;
  Answers& answers_;
  DeferredWork& deferred_;
  const FatalErrors& errors_;
  profile::Recorder* const recorder_;
  shm::LongTraffic* const traffic_;
  EngineCounters& counters_;
  Pool<SendStream> streams_;
  std::vector<SendStream*> sending_;  // neither held nor complete
  PeerTable<uint32_t> unfinished_;    // by receiver: messages that are not offered for single copy
};

}  // namespace hearth::p2p
