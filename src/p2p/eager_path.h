// The eager path: messages that fit a packet of the ring. Sends write the packet at once; if the ring is
// full, the peer is flow-blocked by unmatched messages, or earlier sends wait, a send joins the peer's
// backlog. A receiver takes the packet out of its sender's ring directly, or progress matches it.
//
// There are three ways to send and four to receive, for these reasons:
//
//   inline_path.h      one line, inlined into the MPI calls: a function call costs as much as the rest
//   send_lines(), receive_lines()
//                      several lines over an open ring: the general functions below take 7 to 12 % longer at
//                      64 B to 1 KiB (cores that share a cache, 2026-11-25)
//   write()            all other sends
//   receive_next()     from one known sender, without the queues, also a shorter message
//   on_packet()        progress, which has to accept any message
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/chaos.h"
#include "base/copy.h"
#include "p2p/answers.h"
#include "p2p/deferred_work.h"
#include "p2p/direct_rings.h"
#include "p2p/failure_record.h"
#include "p2p/matching.h"
#include "p2p/message_profile.h"
#include "p2p/pair_table.h"
#include "p2p/request_table.h"
#include "transport/transport.h"

namespace hearth::p2p {

/// The commit word of an eager message that nothing has to answer.
constexpr uint64_t eager_commit(uint64_t bytes) {
  return shm::PacketHeader::make_commit(static_cast<uint8_t>(PacketKind::eager), 0,
                                        static_cast<uint32_t>(bytes), 0);
}

class EagerPath {
 public:
  /// State of a peer for the fast path, in one cache line.
  struct alignas(64) Peer {
    /// The ring is open, the backlog is empty, and the peer is not flow-blocked.
    bool fast_path = false;
    bool profiled = false;
    bool listed = false;           // in waiting_
    uint32_t room_prefetched = 0;  // payload bytes prefetched for the next packet (deferred_work.h)
    DirectRings rings;
    uint64_t ring_bytes_max = 0;  // longest message inside the ring
    Request* backlog = nullptr;   // sends that wait for room, oldest first: they match in this order
    Request* backlog_last = nullptr;
  };
  static_assert(sizeof(Peer) == 64);

  struct Parts {
    transport::Transport& transport;
    Matching& matching;
    RequestTable& requests;
    PairTable& pairs;
    const FailureRecord& failures;
    DeferredWork& deferred;
    Answers& answers;
    const FatalErrors& errors;
    MessageProfile& profile;
    /// Advances all other operations. Called in intervals while messages are received from their rings alone.
    void (*progress)(void* owner);
    void* owner;
  };
  explicit EagerPath(const Parts& parts);

  Peer& peer(PeerIndex index) { return peers_[static_cast<size_t>(index)]; }
  size_t packet_bytes_max() const { return packet_bytes_max_; }

  // Sending.
  /// Sends a message if nothing has to go first and there is room. False: nothing was sent; an error of the
  /// transport is in `status`.
  bool send(const void* buffer, const datatype::Type& type, uint64_t bytes, PeerIndex to, uint64_t match,
            Status& status);
  /// The same for a message of several lines to a peer with an enabled fast path; `call` as for the profile.
  bool send_lines(const void* buffer, const datatype::Type& type, uint64_t bytes, PeerIndex to,
                  uint64_t match, int call);
  /// Sends the message of a request, without regard to the backlog. False: there is no room. The request may
  /// be destroyed.
  bool start(Request& request);
  /// Whether sends have to wait for receives, because too many bytes of this process are unmatched at the
  /// peer.
  bool is_flow_blocked(PeerIndex to);
  /// Updates the fast-path flag of a peer.
  void update_fast_path(PeerIndex to);
  /// Reloads the thresholds of all peers.
  void reload();

  // Sends that wait for room.
  bool has_backlog(PeerIndex to) { return peer(to).backlog != nullptr; }
  bool any_backlog() const { return !waiting_.empty(); }
  void add_to_backlog(Request& request);
  /// Starts what can be started by start_send(request), which returns false if there is no room; returns
  /// whether any was started.
  template <class StartSend>
  bool serve_backlogs(const StartSend& start_send);
  /// Takes the sends for which the function returns true out of the backlogs and appends them.
  template <class Predicate>
  void take_from_backlogs(const Predicate& predicate, std::vector<Request*>& taken);
  /// Changes the order in which peers are served (base/chaos.h).
  void shuffle();

  // Receiving.
  /// Receives the next message of a sender if it is this one, with at most `room` bytes. Polls its ring for a
  /// bounded number of rounds. False: nothing was received. Pre: `from` and the tag are no wildcards.
  bool receive(std::byte* to, uint64_t room, PeerIndex from, uint64_t match, uint64_t& bytes);
  /// receive() for exactly `bytes` bytes in several lines; false also if progress is due.
  bool receive_lines(shm::RingReader& ring, std::byte* to, uint64_t bytes, uint64_t match, int call);
  /// A packet that progress has found: completes a posted receive, or joins the unexpected queue.
  void on_packet(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload);
  /// Completes a receive with the payload of a message.
  void deliver(Request& request, PeerIndex from, int tag, const std::byte* payload, int64_t bytes);

  // Failures.
  /// Disables the fast path to and from all peers; it does not check contexts.
  void disable();
  /// Enables the fast path, unless `disabled` or fault injection (base/chaos.h) disables it.
  void enable_unless(bool disabled) { disabled_ = disabled || chaos::disables_fast_path(); }
  void disable_to(PeerIndex to) { peer(to).fast_path = false; }

  /// Ring slots that this process has written, by packets of all kinds. Computed from 32-bit positions, so it
  /// has to be called before a ring advances by 2^32 slots.
  uint64_t slots_sent();

 private:
  bool write(Peer& peer, const void* buffer, const datatype::Type& type, size_t bytes, PeerIndex to,
             uint8_t flags, uint32_t cookie, uint64_t match, Status& status);
  bool receive_next(shm::RingReader& ring, std::byte* to, uint64_t room, uint64_t match, uint64_t& bytes);
  [[gnu::noinline]] void meet(PeerIndex from, uint64_t bytes, int tag);
  void keep(const MatchKey& key, const shm::PacketHeader& header, const std::byte* payload);

  transport::Transport& transport_;
  Matching& matching_;
  RequestTable& requests_;
  PairTable& pairs_;
  const FailureRecord& failures_;
  DeferredWork& deferred_;
  Answers& answers_;
  const FatalErrors& errors_;
  MessageProfile& profile_;
  void (*const progress_)(void* owner);
  void* const owner_;
  const uint64_t unexpected_kib_max_;
  const size_t packet_bytes_max_;
  PeerTable<Peer> peers_;
  std::vector<PeerIndex> waiting_;               // peers with a backlog
  bool disabled_ = chaos::disables_fast_path();  // chaos, or a revoked communicator
  int receives_since_progress_ = 0;              // receives from rings since the last progress of receive()
  std::vector<uint32_t> slots_seen_;             // by peer, at the last call of slots_sent()
  uint64_t slots_sent_ = 0;
};

template <class StartSend>
bool EagerPath::serve_backlogs(const StartSend& start_send) {
  bool moved = false;
  for (size_t i = 0; i < waiting_.size();) {
    const PeerIndex to = waiting_[i];
    Peer& its = peer(to);
    while (its.backlog != nullptr) {
      Request* request = its.backlog;
      Request* next = request->next;
      if (!start_send(*request)) break;  // a started request may be destroyed
      its.backlog = next;
      moved = true;
    }
    update_fast_path(to);
    if (its.backlog == nullptr) {
      its.listed = false;
      waiting_[i] = waiting_.back();
      waiting_.pop_back();
    } else {
      ++i;
    }
  }
  return moved;
}

template <class Predicate>
void EagerPath::take_from_backlogs(const Predicate& predicate, std::vector<Request*>& taken) {
  for (const PeerIndex to : waiting_) {
    Peer& its = peer(to);
    Request* kept = nullptr;
    Request* kept_last = nullptr;
    for (Request* request = its.backlog; request != nullptr;) {
      Request* next = request->next;
      if (predicate(*request)) {
        taken.push_back(request);
      } else {
        (kept != nullptr ? kept_last->next : kept) = request;
        kept_last = request;
        request->next = nullptr;
      }
      request = next;
    }
    its.backlog = kept;
    its.backlog_last = kept_last;
  }
}

inline void EagerPath::deliver(Request& request, PeerIndex from, int tag, const std::byte* payload,
                               int64_t bytes) {
  const datatype::Type& type = *request.type;
  const int64_t room = request.count * type.size;
  const auto fitting = static_cast<size_t>(bytes <= room ? bytes : room);
  if (__builtin_expect(type.contiguous, 1)) {
    copy_bytes(static_cast<std::byte*>(request.buffer) + type.true_lower_bound, payload, fitting);
  } else {
    datatype::unpack(type, request.buffer, 0, payload, fitting);
  }
  requests_.complete_receive(request, from, tag, bytes);
}

inline void EagerPath::on_packet(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
  const MatchKey key = {context_of(header.match), from, tag_of(header.match)};
  if (__builtin_expect(peer(from).rings.from == nullptr, 0)) {
    if (!disabled_) meet(from, header.bytes(), key.tag);
  }
  if (MatchEntry* entry = matching_.posted().take(key); __builtin_expect(entry != nullptr, 1)) {
    if (__builtin_expect(header.flags() & kSynchronous, 0)) {
      answers_.send(from, PacketKind::matched, 0, header.cookie());
    }
    return deliver(static_cast<Request&>(*entry), from, key.tag, payload, header.bytes());
  }
  keep(key, header, payload);
}

}  // namespace hearth::p2p
