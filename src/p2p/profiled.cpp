// Engine code for --profile and --trace only. Waits are measured by the clock readings that a waiting loop
// makes anyway, every kRoundsPerLook rounds, so shorter waits are not recorded. Copies made during a wait do
// not count as waiting.
#include <algorithm>

#include "base/os_wait.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "p2p/wait_diagnostics.h"
#include "profile/recorder.h"

namespace hearth::p2p {

static_assert(profile::kWays == static_cast<int>(Protocol::single_copy) + 1);
static_assert(profile::kLineLengths == shm::kLinePayloadBytes + 1);

namespace {

// Long waits are added to the profile in steps of this length, so that the profile of a rank which never
// returns shows them.
constexpr uint64_t kCountedNs = 50'000'000;
// Idle time after which the call site is recorded.
constexpr uint64_t kSiteNs = 1'000'000;

profile::Wait kind_of(uint32_t kind) {
  switch (static_cast<shm::WaitKind>(kind)) {
    case shm::WaitKind::send:
      return profile::Wait::late_receiver;
    case shm::WaitKind::receive:
    case shm::WaitKind::probe:
    case shm::WaitKind::call:
      return profile::Wait::late_sender;
    case shm::WaitKind::collective:
      return profile::Wait::collective;
    case shm::WaitKind::finalize:
      return profile::Wait::finalize;
    default:
      return profile::Wait::request;
  }
}

// Whether all awaited operations are of one kind with one process.
bool is_uniform(const shm::WaitEntry& entry) {
  const uint32_t known = std::min<uint32_t>(entry.operation_count, shm::kOperationsMax);
  for (uint32_t i = 1; i < known; ++i) {
    if (entry.operations[i].kind != entry.operations[0].kind ||
        entry.operations[i].peer != entry.operations[0].peer) {
      return false;
    }
  }
  return known > 0;
}

// The number of short packets before the drawn one.
uint32_t packets_until(uint32_t drawn, uint32_t packets) {
  return static_cast<uint32_t>(std::max(static_cast<int32_t>(drawn - packets), 0));
}

}  // namespace

bool Engine::traced() const {
  return recorder_ != nullptr && recorder_->tracing();
}

void Engine::begin_profile(PeerIndex index, const Pair& pair) {
  Peer& peer = peers_[static_cast<size_t>(index)];
  peer.profiled = true;
  ProfiledPeer& seen = profiled(peer);
  seen.counts = recorder_->counts(index);
  seen.seen_sends_left = seen.seen_receives_left = profile::kSeenEach;
  recorder_->tell_limits(
      index, pair.relation,
      {pair.protocol.ring_bytes_max, pair.protocol.single_copy_bytes_min, pair.protocol.arena_bytes_min});
}

// Sampling of short messages. The fast path (inline_path.h) does not call this file, with a profile or
// without. The first messages of a pair bypass the fast path and are recorded one by one. For the rest the
// rings know the number; the call and the length are recorded for one message in about
// profile::kIntervalMean, at which a limit makes the ring take its slow path. The interval is random. Fixed
// intervals, or the points where the ring wraps around, might always sample the same call of a program that
// sends in a regular pattern.
bool Engine::is_drawn(uint32_t packets, uint32_t& drawn) {
  if (static_cast<int32_t>(drawn - packets) > 0) return false;
  drawn = packets + profile::draw_interval(chance_);
  return true;
}

void Engine::sample_direct_rings(Peer& peer) {
  ProfiledPeer& seen = profiled(peer);
  if (peer.direct_ring_to != nullptr) {
    const uint32_t packets = peer.direct_ring_to->short_packets_written();
    seen.counts->sent_unseen += packets - seen.short_counted_to;
    seen.short_counted_to = packets;
  }
  if (peer.direct_ring_from != nullptr) {
    const uint32_t packets = peer.direct_ring_from->short_packets_read();
    seen.counts->received_unseen += packets - seen.short_counted_from;
    seen.short_counted_from = packets;
    recorder_->tell_posted(matching_.posted().taken_inline() - posted_lines_);
  }
}

bool Engine::is_unseen(const Peer& peer) {
  const ProfiledPeer& seen = profiled(peer);
  return seen.seen_sends_left == 0 && peer.direct_ring_to != nullptr &&
         packets_until(seen.drawn_send, peer.direct_ring_to->short_packets_written() + seen.slow_to) > 0;
}

bool Engine::sample_send(Peer& peer) {
  ProfiledPeer& seen = profiled(peer);
  if (seen.seen_sends_left > 0) {
    if (!traced()) --seen.seen_sends_left;
    return false;
  }
  if (peer.direct_ring_to == nullptr) return false;
  sample_direct_rings(peer);
  return is_drawn(seen.short_counted_to + seen.slow_to, seen.drawn_send);
}

void Engine::expect_sample(Peer& peer) {
  const ProfiledPeer& seen = profiled(peer);
  if (seen.seen_sends_left > 0 || traced()) {
    peer.fast_path = false;
  } else if (peer.direct_ring_to != nullptr) {
    peer.direct_ring_to->limit_short(
        packets_until(seen.drawn_send, peer.direct_ring_to->short_packets_written() + seen.slow_to));
  }
}

void Engine::sample_receive(Peer& peer, uint64_t bytes) {
  ProfiledPeer& seen = profiled(peer);
  const uint32_t packets = peer.direct_ring_from->short_packets_read() + seen.slow_from;
  const bool unseen = packets_until(seen.drawn_receive, packets) > 0;
  if (profile::frequent_call >= 0 && bytes <= shm::kLinePayloadBytes && unseen) {
    ++seen.slow_from;
    ++seen.counts->received_unseen;
  } else {
    sample_direct_rings(peer);
    if (is_drawn(packets, seen.drawn_receive) && bytes <= shm::kLinePayloadBytes)
      recorder_->received_sample(bytes);
    profile::count_frequent_call(bytes);
  }
  expect_receive_sample(peer);
}

void Engine::expect_receive_sample(Peer& peer) {
  const ProfiledPeer& seen = profiled(peer);
  const uint32_t packets = peer.direct_ring_from->short_packets_read() + seen.slow_from;
  peer.direct_ring_from->limit_short(packets_until(seen.drawn_receive, packets));
}

// Whether the ring takes its slow path for another reason than a sample.
bool Engine::stops_of_itself(Peer& peer) {
  peer.direct_ring_from->lift_limit();
  const bool stops = peer.direct_ring_from->next_slot() == nullptr;
  expect_receive_sample(peer);
  return stops;
}

void Engine::complete_profile() {
  if (recorder_ == nullptr) return;
  for (Peer& peer : peers_) {
    if (peer.profiled) sample_direct_rings(peer);
  }
}

// A message from a process whose ring is not enabled for the fast path. Enables it, except for a trace, which
// records every message here; a profile records the first ones.
void Engine::meet(PeerIndex from, uint64_t bytes, int tag) {
  Peer& peer = peers_[static_cast<size_t>(from)];
  if (recorder_ != nullptr && !peer.profiled) pairs_.know(from);
  if (traced()) return recorder_->arrived(from, bytes, tag);
  if (peer.profiled && profiled(peer).seen_receives_left > 0) {
    --profiled(peer).seen_receives_left;
    return;
  }
  peer.direct_ring_from = transport_.direct_ring_from(from);
  if (peer.profiled && peer.direct_ring_from != nullptr) expect_receive_sample(peer);
}

void Engine::watch_wait(Waiter& waiter, uint64_t now_ns, bool stretch_begins) {
  if (!waiter.watched) {
    waiter.noted = true;
    waiter.watched = WatchedWait();
    waiter.watched->look_ns = now_ns;
    return;
  }
  WatchedWait& watched = *waiter.watched;
  if (!stretch_begins) watched.idle_ns += now_ns - watched.look_ns;
  watched.look_ns = now_ns;
  if (watched.idle_ns == 0) return;
  if (!watched.described) describe_watched(waiter, watched);
  if (!watched.site_sought && watched.idle_ns >= kSiteNs) {
    watched.site_sought = true;
    watched.site = recorder_->note_site();
  }
  if (watched.idle_ns >= kCountedNs) count_wait(watched);
}

// Describes a wait once, at its beginning: after its first operation completes it would look like another
// wait.
void Engine::describe_watched(const Waiter& waiter, WatchedWait& watched) {
  watched.described = true;
  shm::WaitEntry entry = {};
  WaitDiagnostics note(*this, entry);
  waiter.describe(note);
  const bool uniform = is_uniform(entry);
  watched.kind = kind_of(uniform && entry.kind == static_cast<uint32_t>(shm::WaitKind::request)
                             ? entry.operations[0].kind
                             : entry.kind);
  watched.peer = uniform && entry.operations[0].peer >= 0 ? entry.operations[0].peer : MPI_ANY_SOURCE;
  if (entry.missing_count == 1) watched.peer = entry.missing[0];
}

void Engine::count_wait(WatchedWait& watched) const {
  recorder_->waited(watched.kind, watched.peer, watched.idle_ns, !watched.counted, watched.site);
  watched.counted = true;
  watched.idle_ns = 0;
}

void Engine::end_watched_wait(Waiter& waiter) {
  WatchedWait& watched = *waiter.watched;
  if (watched.idle_ns > 0) count_wait(watched);
  if (watched.counted) {
    recorder_->wait_is_over(watched.kind, watched.peer, waiter.began_ns, watched.look_ns);
  }
}

}  // namespace hearth::p2p
