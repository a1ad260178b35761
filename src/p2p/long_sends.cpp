#include "p2p/long_sends.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/chaos.h"
#include "base/copy.h"
#include "datatype/type.h"
#include "mpi.h"
#include "profile/recorder.h"

namespace hearth::p2p {
namespace {

constexpr size_t kMessagesLeft = 8;  // see take_buffers()

// The protocol by which the message begins; it may change to bounce buffers later (on_clear_to_send).
Protocol way_of(const SendStream& stream) {
  if (stream.offered == kInArena) return Protocol::arena;
  return stream.offered == kSingleCopy ? Protocol::single_copy : Protocol::bounce_buffers;
}

}  // namespace

LongSends::LongSends(PeerIndex self, const Parts& parts)
    : self_(self),
      transport_(parts.transport),
      runs_(parts.transport.bounce_buffers()),
      transfers_(parts.transport.buffer_transfers()),
      requests_(parts.requests),
      pairs_(parts.pairs),
      buffers_(parts.buffers),
      offers_(parts.offers),
      answers_(parts.answers),
      deferred_(parts.deferred),
      errors_(parts.errors),
      recorder_(parts.recorder),
      traffic_(parts.traffic),
      counters_(parts.counters),
      unfinished_(parts.pairs.room()) {
  streams_.prepare();
}

// Also reserves room in sending_, so that listing the stream never allocates. nullptr: no memory.
SendStream* LongSends::make_stream() {
  constexpr size_t kPlacesMin = 16;
  if (sending_.capacity() <= streams_.live()) {
    try {
      sending_.reserve(std::max(kPlacesMin, 2 * sending_.capacity()));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  return streams_.create();
}

bool LongSends::start(Request& request, bool held) {
  const PeerIndex to = request.key.peer;
  const int64_t bytes = request.count * request.type->size;
  CopyOffers::Offer offer = offers_.offer(request, static_cast<uint64_t>(bytes), !any_unfinished_to(to));
  Status status;
  std::byte* line = transport_.claim(to, rendezvous_bytes(offer.flags), status);
  if (line == nullptr) {
    if (status.ok()) return false;
    requests_.complete_send(request, status);
    return true;
  }
  SendStream* stream = make_stream();
  if (stream == nullptr) {
    // Nothing has been sent yet, so only this message fails.
    requests_.complete_send(request, fail(MPI_ERR_NO_MEM, "no memory for a long message to process %d", to));
    return true;
  }
  stream->request = &request;
  request.send_stream = stream;
  const bool recycles = bytes <= buffers_.recycled_bytes_max(to) && !buffers_.recycled(to).one_way();
  if (offers_.take_release_due(to)) buffers_.release_recycled(to);
  stream->begin(bytes, recycles, pairs_.at(to).store_policy.streams(), pairs_.limits_for(request.key));
  ++counters_.long_messages_sent;
  counters_.long_bytes_sent += static_cast<uint64_t>(bytes);
  if (traffic_ != nullptr) atomic::store_relaxed(traffic_->sent, counters_.long_bytes_sent);
  offers_.began(request.key, static_cast<uint64_t>(bytes), offer.flags);
  announce(request, *stream, held, offer, line);
  unfinished_[static_cast<size_t>(to)] += stream->offered == 0 ? 1 : 0;
  if (!stream->held) {
    if (pairs_.at(to).store_policy.near()) deferred_.sent_in_buffers(bytes);
    list(sending_, *stream);
    push(*stream);
  }
  return true;
}

// Writes the first packet, with the first fragment unless the message is held.
void LongSends::announce(Request& request, SendStream& stream, bool held, CopyOffers::Offer& offer,
                         std::byte* line) {
  const PeerIndex to = request.key.peer;
  RendezvousStart start = {};
  start.bytes = static_cast<uint64_t>(stream.total_bytes);
  start.address = offer.address;
  stream.offered = offer.flags;
  stream.exposure = std::move(offer.exposure);
  stream.held = held || stream.offered != 0 || !fill_fragment(stream, start.fragment);
  auto flags = static_cast<uint8_t>((request.await_match ? kSynchronous : 0) | stream.offered);
  if (pairs_.limits_for(request.key).fragment_bytes_max == 0 && transfers_.reaches(to) &&
      datatype::is_one_run(*request.type, request.count)) {
    flags |= kInOneRun;
  }
  const size_t start_bytes = rendezvous_bytes(stream.offered);
  copy_bytes(line, &start, start_bytes);
  transport_.commit(to, static_cast<uint8_t>(PacketKind::rendezvous), flags, start_bytes,
                    requests_.issue_cookie(request), match_word(request.key.context, request.key.tag));
  chaos::at(chaos::Point::rendezvous_announced);
  if (__builtin_expect(recorder_ != nullptr, 0)) {
    recorder_->sent(to, static_cast<int>(way_of(stream)), start.bytes, request.key.tag, false);
  }
}

// Fragments.

// Retires the fragments that the receiver has emptied. The first one shows that the message has been matched.
void LongSends::retire(SendStream& stream) {
  while (stream.in_flight > 0) {
    const SendStream::Sent& sent = stream.in_buffers[static_cast<size_t>(stream.oldest)];
    if (sent.buffer >= 0 && !runs_.returned(sent.owner, sent.buffer, sent.ticket)) return;
    stream.oldest = (stream.oldest + 1) % kFragmentsInFlightMax;
    --stream.in_flight;
    stream.cleared = true;
  }
}

// Takes a recycled run of the pair that is nearly as long as the next fragment; shorter ones are released,
// because they are not worth a packet. Sets the length of the fragment: the run is filled to its previous
// length, because the receiver keeps only the length that was filled, so a shorter fragment would shorten the
// buffer permanently.
bool LongSends::take_recycled(const SendStream& stream, int64_t& bytes, Fragment& run) {
  const PeerIndex to = stream.request->key.peer;
  RecycledBuffers& recycled = buffers_.recycled(to);
  while (!recycled.empty()) {
    run = recycled.take();
    const int64_t fitting = std::min<int64_t>(run.bytes, stream.left_bytes());
    if (fitting >= bytes - bytes / 4) {
      if (fitting <= 2 * bytes) bytes = fitting;
      return true;
    }
    deferred_.release(to, run);
  }
  return false;
}

// Takes free buffers of the own pool; -1: none. A message that begins and is not known to be matched leaves
// room for several like it, because the receiver may want one of those first. Later fragments leave nothing:
// a message that fits the bounce buffers must not wait for its receiver. If buffers that peers keep leave no
// room for a long run, a shorter run is used, because the peers may have no reason to release any of them
// soon.
int LongSends::take_buffers(SendStream& stream, int64_t& bytes) {
  const PeerIndex to = stream.request->key.peer;
  const bool begins = stream.sent_bytes == 0 && !stream.cleared;
  const transport::BounceBuffers::RunOptions options = {
      .gap = !pairs_.at(to).store_policy.streams() && buffers_.recycled(to).one_way(),
      .bytes_left = begins ? kMessagesLeft * static_cast<size_t>(stream.total_bytes) : 0,
      .patient = stream.in_flight > 0};
  int buffer = buffers_.take(to, static_cast<size_t>(bytes), options);
  if (buffer < 0) retire(stream);
  while (buffer < 0 && stream.in_flight == 0 && bytes >= 2 * kFragmentBytesMin) {
    bytes /= 2;
    buffer = buffers_.take(to, static_cast<size_t>(bytes), options);
  }
  return buffer;
}

// Writes the next fragment of a message into recycled buffers of the pair, otherwise into new ones of the own
// pool. False: wait, because the message has reached its limit of fragments in flight or no buffers are free.
// Release marks are polled only then, because each poll takes the mark's cache line away from the receiver.
bool LongSends::fill_fragment(SendStream& stream, Fragment& fragment) {
  const Request& request = *stream.request;
  const PeerIndex to = request.key.peer;
  const PairProtocol& limits = pairs_.limits_for(request.key);
  if (limits.fragment_bytes_max == 0) return false;
  int64_t bytes = stream.next_fragment(limits);
  // Retire the fragments that the receiver has emptied, but only if this message is at its limit.
  const int in_flight_most = stream.in_flight_max(limits);
  if (stream.in_flight >= in_flight_most || bytes < stream.least_fragment(stream.in_flight, limits)) {
    retire(stream);
    if (stream.in_flight >= in_flight_most) {
      recall(stream);
      return false;
    }
    bytes = std::max(bytes, stream.least_fragment(stream.in_flight, limits));
  }
  Fragment run;
  const bool kept = take_recycled(stream, bytes, run);
  const PeerIndex owner = kept ? owner_of(run, self_, to) : self_;
  const int buffer = kept ? number_of(run) : take_buffers(stream, bytes);
  if (buffer < 0) {
    // With no fragment in flight, no recall is needed: an unmatched message gets clear_to_send without a
    // request, and a matched one can use the ring.
    if (stream.in_flight > 0) recall(stream);
    return false;
  }
  if (kept && owner == self_) buffers_.note_receiver(buffer, to);
  stream.in_buffers[static_cast<size_t>((stream.oldest + stream.in_flight) % kFragmentsInFlightMax)] = {
      owner, buffer, runs_.ticket(owner, buffer)};
  chaos::at(chaos::Point::buffer_taken);
  ++stream.in_flight;
  buffers_.recycled(to).sent(bytes, buffers_.recycled_bytes_max(to));

  const auto length = static_cast<size_t>(bytes);
  std::byte* memory = runs_.memory(owner, buffer, length);
  {
    const profile::CopyTimer timer(recorder_, to, static_cast<uint64_t>(bytes));
    if (kept) {
      datatype::pack(*request.type, request.buffer, stream.sent_bytes, memory, length);
    } else {
      pairs_.at(to).store_policy.fill(*request.type, request.buffer, stream.sent_bytes, memory, length);
    }
  }
  fragment = {static_cast<uint32_t>(buffer) | (owner == self_ ? 0 : kBufferOfReceiver),
              static_cast<uint32_t>(bytes)};
  stream.sent(bytes, limits);
  return true;
}

// Asks the receiver to release the buffers that it keeps for recycling, because it does not release them
// otherwise. Rarely needed: messages whose buffers may be recycled normally fit the limit of fragments in
// flight and the pool, unless memory is short.
void LongSends::recall(SendStream& stream) {
  const PeerIndex to = stream.request->key.peer;
  if (stream.recalled || !buffers_.may_be_kept(to, stream.total_bytes)) return;
  stream.recalled = true;
  answers_.send(to, PacketKind::recall, 0, RequestTable::cookie_of(*stream.request));
}

void LongSends::note_answer(PeerIndex from, const Fragment& fragment) {
  const PeerIndex owner = owner_of(fragment, self_, from);
  for (SendStream* stream : sending_) {
    if (stream->request->key.peer == from) stream->note_answer(owner, number_of(fragment));
  }
}

// Progress.

bool LongSends::push_all() {
  bool moved = false;
  for (size_t i = 0; i < sending_.size();) {
    SendStream* stream = sending_[i];
    moved |= push(*stream);
    // push() removes a finished stream from the list.
    if (i < sending_.size() && sending_[i] == stream) ++i;
  }
  return moved;
}

void LongSends::shuffle() {
  for (size_t i = 1; i < sending_.size(); ++i) std::swap(sending_[i], sending_[chaos::draw(i + 1)]);
  for (size_t i = 0; i < sending_.size(); ++i) sending_[i]->place = static_cast<int>(i);
}

// Sends as much as possible now. True if anything was sent.
bool LongSends::push(SendStream& stream) try {
  if (stream.held) return false;
  if (stream.to_answer && !push_answer(stream)) return false;
  return stream.buffer_awaited ? push_buffer(stream) : push_fragments(stream);
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the next piece of a long message");
}

bool LongSends::push_fragments(SendStream& stream) {
  const Request& request = *stream.request;
  const PairProtocol& limits = pairs_.limits_for(request.key);
  bool moved = false;
  while (stream.left_bytes() > 0) {
    if (limits.fragment_bytes_max == 0) {
      if (!push_ring_fragment(stream)) return moved;
    } else {
      Status status;
      std::byte* line = transport_.claim(request.key.peer, sizeof(Fragment), status);
      if (line == nullptr || !push_buffered_fragment(stream, line)) return moved;
    }
    moved = true;
  }
  finish(stream);
  return true;
}

// Sends a fragment in bounce buffers. `line`: room for its packet.
bool LongSends::push_buffered_fragment(SendStream& stream, std::byte* line) {
  Fragment fragment;
  if (!fill_fragment(stream, fragment)) {
    // If other messages hold all buffers, a matched message can still use its ring.
    return stream.in_flight == 0 && stream.cleared && push_ring_fragment(stream);
  }
  const Request& request = *stream.request;
  copy_bytes(line, &fragment, sizeof fragment);
  transport_.commit(request.key.peer, static_cast<uint8_t>(PacketKind::buffered_fragment), 0, sizeof fragment,
                    RequestTable::cookie_of(request), 0);
  chaos::at(chaos::Point::buffer_announced);
  return true;
}

// Sends a fragment inside the ring.
bool LongSends::push_ring_fragment(SendStream& stream) {
  const Request& request = *stream.request;
  const PeerIndex to = request.key.peer;
  const auto bytes = std::min(static_cast<size_t>(stream.left_bytes()),
                              static_cast<size_t>(transport_.limits_to(to).packet_bytes_max));
  Status status;
  std::byte* line = transport_.claim(to, bytes, status);
  if (line == nullptr) return false;
  datatype::pack(*request.type, request.buffer, stream.sent_bytes, line, bytes);
  transport_.commit(to, static_cast<uint8_t>(PacketKind::ring_fragment), 0, bytes,
                    RequestTable::cookie_of(request), 0);
  stream.sent_bytes += static_cast<int64_t>(bytes);
  return true;
}

// Passes the whole buffer to the transport. The transfer is complete when the transport delivers buffer_left.
bool LongSends::push_buffer(SendStream& stream) {
  const Request& request = *stream.request;
  const uint32_t cookie = RequestTable::cookie_of(request);
  const auto over = static_cast<uint8_t>(PacketKind::buffer_left);
  if (!transfers_.send(request.key.peer, cookie, first_byte(request), static_cast<size_t>(stream.total_bytes),
                       {shm::PacketHeader::make_commit(over, 0, 0, cookie), 0})) {
    return false;
  }
  stream.buffer_awaited = false;
  stream.held = true;
  unlist(sending_, stream);
  return true;
}

// Answers a request to write the message.
bool LongSends::push_answer(SendStream& stream) {
  const Request& request = *stream.request;
  if (!answers_.try_send(request.key.peer, PacketKind::written, stream.answer_flags,
                         RequestTable::cookie_of(request))) {
    return false;
  }
  stream.to_answer = false;
  if (!(stream.answer_flags & kNotWritten)) stream.sent_bytes = stream.total_bytes;
  return true;
}

// Resumes a held message: the receiver has matched it and selected the protocol.
void LongSends::resume(SendStream& stream) {
  stream.held = false;
  stream.cleared = true;
  if (stream.place < 0) list(sending_, stream);
  push(stream);
}

// All bytes have left the user's buffer. Buffers that the receiver still reads return to the pool by their
// release marks.
void LongSends::finish(SendStream& stream) {
  Request& request = *stream.request;
  destroy(stream);
  if (!request.await_match) requests_.complete_send(request, {});
}

void LongSends::destroy(SendStream& stream) {
  Request& request = *stream.request;
  unlist(sending_, stream);
  if (stream.offered != 0) {
    offers_.ended(request.key, static_cast<uint64_t>(stream.total_bytes));
  } else {
    --unfinished_[static_cast<size_t>(request.key.peer)];
  }
  request.send_stream = nullptr;
  streams_.destroy(&stream);
}

void LongSends::end(Request& request, Status status) {
  if (SendStream* stream = request.send_stream; stream != nullptr) {
    if (stream->to_answer) {
      answers_.send(request.key.peer, PacketKind::written, stream->answer_flags,
                    RequestTable::cookie_of(request));
    }
    destroy(*stream);
  }
  request.await_match = false;
  requests_.complete_send(request, status);
}

// Packets of the receiver.

bool LongSends::on_clear_to_send(Request& request, uint8_t flags) {
  const PeerIndex to = request.key.peer;
  const bool buffer_awaited = (flags & kBufferAwaited) != 0;
  if (buffer_awaited && !transfers_.reaches(to)) return false;
  offers_.declined(to, flags);
  if (request.send_stream == nullptr) return true;
  SendStream& stream = *request.send_stream;
  stream.buffer_awaited = buffer_awaited;
  if (recorder_ != nullptr && stream.offered != 0) {
    recorder_->fell_back(to, static_cast<int>(way_of(stream)), static_cast<uint64_t>(stream.total_bytes));
  }
  resume(stream);
  return true;
}

bool LongSends::on_finished(Request& request) {
  if (request.send_stream == nullptr || request.send_stream->offered == 0) return false;
  finish(*request.send_stream);
  return true;
}

bool LongSends::on_matched(Request& request) {
  if (!request.await_match) return false;
  request.await_match = false;
  if (request.send_stream == nullptr) requests_.complete_send(request, {});
  return true;
}

bool LongSends::on_buffer_left(Request& request) {
  if (request.send_stream == nullptr || !request.send_stream->held) return false;
  finish(*request.send_stream);
  return true;
}

// Copies only from a buffer that was exposed in this way and still is.
bool LongSends::on_cooperative_request(Request& request, uint8_t flags, const std::byte* payload) {
  CooperativeRequest cooperative_request;
  copy_bytes(&cooperative_request, payload, sizeof cooperative_request);
  SendStream* stream = request.send_stream;
  const uint8_t exposed_as = flags & kByMethod ? kSingleCopy : kInArena;
  if (stream == nullptr || !stream->held || stream->offered != exposed_as || cooperative_request.bytes == 0 ||
      cooperative_request.bytes > static_cast<uint64_t>(stream->total_bytes) ||
      cooperative_request.number > UINT16_MAX) {
    return false;
  }
  const CopyOffers::Answer answer = offers_.serve(request, flags, cooperative_request);
  if (answer.served == CopyOffers::Served::answer_written) {
    stream->answer_flags = answer.flags;
    stream->to_answer = true;
    resume(*stream);
  }
  return answer.served != CopyOffers::Served::invalid;
}

}  // namespace hearth::p2p
