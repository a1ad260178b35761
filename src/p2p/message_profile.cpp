#include "p2p/message_profile.h"

#include <algorithm>

#include "profile/recorder.h"

namespace hearth::p2p {

static_assert(profile::kWays == static_cast<int>(Protocol::single_copy) + 1);
static_assert(profile::kLineLengths == shm::kLinePayloadBytes + 1);

namespace {

// The number of short packets before the drawn one.
uint32_t packets_until(uint32_t drawn, uint32_t packets) {
  return static_cast<uint32_t>(std::max(static_cast<int32_t>(drawn - packets), 0));
}

}  // namespace

MessageProfile::MessageProfile(int size, profile::Recorder* recorder, const PostedQueue& posted)
    : recorder_(recorder), posted_(posted), peers_(recorder != nullptr ? static_cast<size_t>(size) : 0) {}

bool MessageProfile::traced() const {
  return recorder_ != nullptr && recorder_->tracing();
}

void MessageProfile::begin(PeerIndex peer, const Pair& pair) {
  Peer& seen = of(peer);
  seen.counts = recorder_->counts(peer);
  seen.seen_sends_left = seen.seen_receives_left = profile::kSeenEach;
  recorder_->set_limits(
      peer, pair.relation,
      {pair.protocol.ring_bytes_max, pair.protocol.single_copy_bytes_min, pair.protocol.arena_bytes_min});
}

// The call and the length are recorded for one message in about profile::kIntervalMean, at which a limit
// makes the ring take its slow path. The interval is random. Fixed intervals, or the points where the ring
// wraps around, might always sample the same call of a program that sends in a regular pattern.
bool MessageProfile::is_drawn(uint32_t packets, uint32_t& drawn) {
  if (static_cast<int32_t>(drawn - packets) > 0) return false;
  drawn = packets + profile::draw_interval(chance_);
  return true;
}

void MessageProfile::sample(PeerIndex peer, const DirectRings& rings) {
  Peer& seen = of(peer);
  if (seen.counts == nullptr) return;
  if (rings.to != nullptr) {
    const uint32_t packets = rings.to->short_packets_written();
    seen.counts->sent_unseen += packets - seen.short_counted_to;
    seen.short_counted_to = packets;
  }
  if (rings.from != nullptr) {
    const uint32_t packets = rings.from->short_packets_read();
    seen.counts->received_unseen += packets - seen.short_counted_from;
    seen.short_counted_from = packets;
    recorder_->set_posted(posted_.taken_inline() - posted_lines_);
  }
}

// Sender.

bool MessageProfile::is_unseen(PeerIndex to, const DirectRings& rings) {
  const Peer& seen = of(to);
  return seen.seen_sends_left == 0 && rings.to != nullptr &&
         packets_until(seen.drawn_send, rings.to->short_packets_written() + seen.slow_to) > 0;
}

bool MessageProfile::sample_send(PeerIndex to, const DirectRings& rings) {
  Peer& seen = of(to);
  if (seen.seen_sends_left > 0) {
    if (!traced()) --seen.seen_sends_left;
    return false;
  }
  if (rings.to == nullptr) return false;
  sample(to, rings);
  return is_drawn(seen.short_counted_to + seen.slow_to, seen.drawn_send);
}

// Most messages of one line are not recorded here, like those of the fast path, and cost as little. The
// profile accounts for them by their number.
void MessageProfile::sent(PeerIndex to, const DirectRings& rings, size_t bytes, int tag) {
  const bool is_frequent = profile::frequent_call >= 0;
  if (is_frequent && bytes <= shm::kLinePayloadBytes && is_unseen(to, rings)) {
    ++of(to).slow_to;
    ++of(to).counts->sent_unseen;
    return;
  }
  const Protocol way = bytes > shm::kLinePayloadBytes ? Protocol::eager : Protocol::inlined;
  const bool sampled = is_frequent && way == Protocol::inlined && sample_send(to, rings);
  recorder_->sent(to, static_cast<int>(way), bytes, tag, sampled);
  profile::count_frequent_call(bytes);
}

void MessageProfile::sent_lines(PeerIndex to, uint64_t bytes, int tag, int call) {
  recorder_->sent(to, static_cast<int>(Protocol::eager), bytes, tag, false);
  profile::count_call_of(call, bytes);
}

bool MessageProfile::allows_fast_path(PeerIndex to, const DirectRings& rings) {
  const Peer& seen = of(to);
  if (seen.seen_sends_left > 0 || traced()) return false;
  if (rings.to != nullptr) {
    rings.to->limit_short(packets_until(seen.drawn_send, rings.to->short_packets_written() + seen.slow_to));
  }
  return true;
}

// Receiver.

void MessageProfile::received(PeerIndex from, const DirectRings& rings, uint64_t bytes) {
  Peer& seen = of(from);
  const uint32_t packets = rings.from->short_packets_read() + seen.slow_from;
  const bool unseen = packets_until(seen.drawn_receive, packets) > 0;
  if (profile::frequent_call >= 0 && bytes <= shm::kLinePayloadBytes && unseen) {
    ++seen.slow_from;
    ++seen.counts->received_unseen;
  } else {
    sample(from, rings);
    if (is_drawn(packets, seen.drawn_receive) && bytes <= shm::kLinePayloadBytes)
      recorder_->received_sample(bytes);
    profile::count_frequent_call(bytes);
  }
  expect_receive(from, rings);
}

void MessageProfile::received_lines(uint64_t bytes, int call) {
  if (call == kCountedCall) ++posted_lines_;
  profile::count_call_of(call, bytes);
}

void MessageProfile::count_call(uint64_t bytes) const {
  profile::count_frequent_call(bytes);
}

bool MessageProfile::allows_direct_ring(PeerIndex from, uint64_t bytes, int tag) {
  if (traced()) {
    recorder_->arrived(from, bytes, tag);
    return false;
  }
  if (from >= size() || of(from).seen_receives_left == 0) return true;
  --of(from).seen_receives_left;
  return false;
}

void MessageProfile::expect_receive(PeerIndex from, const DirectRings& rings) {
  const Peer& seen = of(from);
  const uint32_t packets = rings.from->short_packets_read() + seen.slow_from;
  rings.from->limit_short(packets_until(seen.drawn_receive, packets));
}

bool MessageProfile::stops_of_itself(PeerIndex from, const DirectRings& rings) {
  rings.from->lift_limit();
  const bool stops = rings.from->next_slot() == nullptr;
  expect_receive(from, rings);
  return stops;
}

void MessageProfile::unexpected(size_t messages, size_t bytes) {
  recorder_->unexpected(messages, bytes);
}

void MessageProfile::expected(size_t bytes) {
  recorder_->expected(bytes);
}

}  // namespace hearth::p2p
