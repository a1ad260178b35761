// Rendezvous, the receiver's side: long messages that arrive in this process.
//
//   sender                                          receiver
//   rendezvous {length, address, fragment}   ->     matches (or waits), copies the fragment out, marks its
//                                                   buffer as free
//   buffered_fragment {next fragment}        ->     ...
//   may fill a released buffer again         <-     release mark
//
// So the bounce buffers are the credit, and no handshake is needed: a sender holds at most a few of them for
// one message, and continues when the receiver has released one. Only a sender that got no buffer at all
// waits for clear_to_send. It then sends fragments through the ring. Each pair has its own ring, so no
// message can be blocked by another pair's messages.
//
// A message whose data the sender exposes is copied by this process or written by the sender
// (offered_copies.h). Between machines there are no bounce buffers. If both user buffers are contiguous, the
// transport transfers the whole message from one to the other (kInOneRun, kBufferAwaited); otherwise all of
// it goes in fragments.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/pool.h"
#include "p2p/answers.h"
#include "p2p/bounce_buffers.h"
#include "p2p/counters.h"
#include "p2p/failure_record.h"
#include "p2p/long_sends.h"
#include "p2p/matching.h"
#include "p2p/offered_copies.h"
#include "p2p/pair_table.h"
#include "p2p/request_table.h"
#include "p2p/stream.h"
#include "shm/layout.h"
#include "transport/transport.h"

namespace hearth::p2p {

class LongReceives {
 public:
  struct Parts {
    transport::Transport& transport;
    Matching& matching;
    RequestTable& requests;
    PairTable& pairs;
    BounceBuffers& buffers;
    OfferedCopies& copies;
    LongSends& sends;
    Answers& answers;
    const FatalErrors& errors;
    profile::Recorder* recorder;  // nullptr: no profile
    shm::LongTraffic* traffic;    // nullptr: not counted in the segment
    EngineCounters& counters;
  };
  LongReceives(PeerIndex self, const Parts& parts);
  ~LongReceives();
  LongReceives(const LongReceives&) = delete;
  LongReceives& operator=(const LongReceives&) = delete;

  /// Receives the message of a stream into a request that matches it.
  void attach(ReceiveStream& stream, Request& request, int tag);
  /// Drops a message that will not be received.
  void drop(ReceiveStream& stream);
  /// Ends the receives for which `why`, called with the message's key, returns an error, except while the
  /// sender may be writing to the buffer; returns whether any ended.
  template <class Why>
  bool end_if(const Why& why, const FailureRecord& failures);

  // Packets of the sender. False: the packet is invalid.
  void on_rendezvous(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload);
  void on_buffered_fragment(PeerIndex from, uint32_t cookie, const Fragment& fragment);
  void on_ring_fragment(PeerIndex from, uint32_t cookie, const std::byte* payload, size_t bytes);
  void on_recall(PeerIndex from, uint32_t cookie);
  bool on_written(PeerIndex from, uint32_t cookie, uint8_t flags);
  bool on_buffer_came(PeerIndex from, uint32_t slot);

  size_t pool_bytes() const { return streams_.bytes_used() + early_.bytes_used(); }

 private:
  std::vector<ReceiveStream*>& expected_from(PeerIndex from) { return expected_[static_cast<size_t>(from)]; }
  ReceiveStream* find(PeerIndex from, uint32_t cookie);
  ReceiveStream& make_stream(PeerIndex from, const shm::PacketHeader& header, const RendezvousStart& start);
  void note_arrival(PeerIndex from, const Fragment& fragment);
  void announce(ReceiveStream& stream, int64_t bytes) const;
  void keep_fragment(const ReceiveStream& stream, const Fragment& fragment) const;
  void take_fragment(ReceiveStream& stream, const Fragment& fragment);
  void take_bytes(ReceiveStream& stream, const std::byte* data, int64_t bytes);
  void copy_offered(ReceiveStream& stream, const Request& request);
  bool await_buffer(ReceiveStream& stream);
  void note_single_copy(ReceiveStream& stream);
  void finish_if_whole(ReceiveStream& stream);
  void end(ReceiveStream& stream, Status status);

  const PeerIndex self_;
  transport::Transport& transport_;
  transport::BufferTransfers& transfers_;
  Matching& matching_;
  RequestTable& requests_;
  PairTable& pairs_;
  BounceBuffers& buffers_;
  OfferedCopies& copies_;
  LongSends& sends_;
  Answers& answers_;
  const FatalErrors& errors_;
  profile::Recorder* const recorder_;
  shm::LongTraffic* const traffic_;
  EngineCounters& counters_;
  const bool prefault_;  // ahead of the copy
  const bool keep_buffers_;
  Pool<ReceiveStream> streams_;
  Pool<EarlyFragments> early_;
  PeerTable<std::vector<ReceiveStream*>> expected_;  // by sender: with outstanding fragments
};

template <class Why>
bool LongReceives::end_if(const Why& why, const FailureRecord& failures) {
  bool any = false;
  for (std::vector<ReceiveStream*>& expected : expected_) {
    for (size_t i = 0; i < expected.size();) {
      ReceiveStream& stream = *expected[i++];
      // The sender may be writing to the buffer; it answers when it has finished.
      if (stream.request == nullptr || (stream.asked_to_write && !failures.is_dead(stream.from))) continue;
      const Request& request = *stream.request;
      const Status status = why(MatchKey{request.key.context, stream.from, request.received_tag});
      if (status.ok()) continue;
      end(stream, status);
      any = true;
      i = 0;  // completion hooks may end further ones, which changes the order
    }
  }
  return any;
}

}  // namespace hearth::p2p
