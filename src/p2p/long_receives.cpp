#include "p2p/long_receives.h"

#include <algorithm>
#include <utility>

#include "base/chaos.h"
#include "base/copy.h"
#include "base/param.h"
#include "datatype/type.h"
#include "profile/recorder.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

// Flags of the protocol that failed and is not to be offered again.
uint8_t what_failed(const ReceiveStream& stream) {
  if (stream.flags & kInArena) return kNoArena;
  return stream.flags & kSingleCopy ? kNoSingleCopy : 0;
}

}  // namespace

LongReceives::LongReceives(PeerIndex self, const Parts& parts)
    : self_(self),
      transport_(parts.transport),
      transfers_(parts.transport.buffer_transfers()),
      matching_(parts.matching),
      requests_(parts.requests),
      pairs_(parts.pairs),
      buffers_(parts.buffers),
      copies_(parts.copies),
      sends_(parts.sends),
      answers_(parts.answers),
      errors_(parts.errors),
      recorder_(parts.recorder),
      traffic_(parts.traffic),
      counters_(parts.counters),
      prefault_(param::get_flag(param::Id::p2p_prefault)),
      keep_buffers_(param::get_flag(param::Id::p2p_recycle_buffers)),
      expected_(parts.pairs.room()) {
  streams_.prepare();
  early_.prepare();
}

LongReceives::~LongReceives() {
  for (size_t slot = 0; slot < streams_.slots_used(); ++slot) {
    if (ReceiveStream* stream = streams_.at(slot); stream != nullptr) streams_.destroy(stream);
  }
}

ReceiveStream* LongReceives::find(PeerIndex from, uint32_t cookie) {
  // The sender may reuse a cookie after it has announced everything, so only streams with outstanding
  // fragments match.
  for (ReceiveStream* stream : expected_from(from)) {
    if (stream->cookie == cookie && stream->announced_bytes < stream->total_bytes) return stream;
  }
  return nullptr;
}

// Arrival.

ReceiveStream& LongReceives::make_stream(PeerIndex from, const shm::PacketHeader& header,
                                         const RendezvousStart& start) {
  ReceiveStream* stream = streams_.create();
  if (stream == nullptr) errors_.out_of_memory("a long message", sizeof(ReceiveStream), from);
  stream->from = from;
  stream->cookie = header.cookie();
  stream->flags = header.flags();
  stream->address = start.address;
  stream->total_bytes = static_cast<int64_t>(start.bytes);
  stream->keeps_buffers = keep_buffers_ && stream->total_bytes <= buffers_.recycled_bytes_max(from);
  if (start.fragment.bytes != 0) {
    stream->early = early_.create();
    if (stream->early == nullptr) errors_.out_of_memory("a long message", sizeof(EarlyFragments), from);
    keep_fragment(*stream, start.fragment);
    announce(*stream, start.fragment.bytes);
  }
  // Further fragments follow without a request only if a first one has arrived. A held message is listed when
  // it is matched.
  if (stream->announced_bytes > 0 && stream->announced_bytes < stream->total_bytes) {
    list(expected_from(from), *stream);
  }
  return *stream;
}

void LongReceives::on_rendezvous(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
  RendezvousStart start = {};
  copy_bytes(&start, payload, rendezvous_bytes(0));
  if (header.bytes() == sizeof start) copy_bytes(&start, payload, sizeof start);
  if (start.bytes > static_cast<uint64_t>(INT64_MAX)) {
    shm::report_corruption("rank %d announces a message of %llu bytes to rank %d", from,
                           static_cast<unsigned long long>(start.bytes), self_);
  }
  if (start.fragment.bytes != 0) note_arrival(from, start.fragment);
  ReceiveStream& stream = make_stream(from, header, start);
  const MatchKey key = {context_of(header.match), from, tag_of(header.match)};
  if (recorder_ != nullptr && recorder_->tracing()) recorder_->arrived(from, start.bytes, key.tag);
  if (MatchEntry* entry = matching_.posted().take(key); entry != nullptr) {
    if (header.flags() & kSynchronous) answers_.send(from, PacketKind::matched, 0, header.cookie());
    attach(stream, static_cast<Request&>(*entry), key.tag);
    return;
  }
  const UnexpectedMessage* message = matching_.add(key, header, stream.total_bytes, stream);
  if (message == nullptr) {
    errors_.out_of_memory("an unexpected message", sizeof(UnexpectedMessage), from);
  }
  transport_.add_unexpected_bytes(from, message->memory_bytes());
  if (recorder_ != nullptr) recorder_->unexpected(matching_.unexpected().size(), 0);
}

void LongReceives::attach(ReceiveStream& stream, Request& request, int tag) {
  stream.request = &request;
  request.received_tag = tag;
  const bool nothing_sent = stream.announced_bytes == 0;
  if (prefault_ && datatype::is_one_run(*request.type, request.count)) {
    stream.prefault =
        Prefault(first_byte(request),
                 static_cast<size_t>(std::min(stream.total_bytes, request.count * request.type->size)));
  }
  if (EarlyFragments* early = std::exchange(stream.early, nullptr); early != nullptr) {
    for (const Fragment& fragment : early->stored()) take_fragment(stream, fragment);
    early_.destroy(early);
  }
  if (nothing_sent) copy_offered(stream, request);
  finish_if_whole(stream);
}

// A message of which nothing was sent: copies it, or lets the sender go on in another way.
void LongReceives::copy_offered(ReceiveStream& stream, const Request& request) {
  using Copied = OfferedCopies::Copied;
  const Copied copied = copies_.copy(stream, request);
  if (copied == Copied::whole) {
    answers_.send(stream.from, PacketKind::finished, 0, stream.cookie);
    note_single_copy(stream);
  } else if (stream.total_bytes > 0) {
    list(expected_from(stream.from), stream);
  }
  if (copied != Copied::not_now && copied != Copied::never) return;
  stream.by_single_copy = false;
  uint8_t flags = copied == Copied::never ? what_failed(stream) : uint8_t{0};
  if (await_buffer(stream)) flags |= kBufferAwaited;
  answers_.send(stream.from, PacketKind::clear_to_send, flags, stream.cookie);
}

// Asks the transport to transfer the message into the receive buffer, if the buffer is contiguous and holds
// the whole message. False: not possible.
bool LongReceives::await_buffer(ReceiveStream& stream) {
  const Request& request = *stream.request;
  const int64_t bytes = stream.total_bytes;
  if (!(stream.flags & kInOneRun) || bytes > request.count * request.type->size ||
      !datatype::is_one_run(*request.type, request.count)) {
    return false;
  }
  const auto over = static_cast<uint8_t>(PacketKind::buffer_came);
  stream.buffer_awaited =
      transfers_.await(stream.from, stream.cookie, first_byte(request), static_cast<size_t>(bytes),
                       {shm::PacketHeader::make_commit(over, 0, 0, stream.slot), 0});
  return stream.buffer_awaited;
}

// Fragments.

void LongReceives::on_buffered_fragment(PeerIndex from, uint32_t cookie, const Fragment& fragment) {
  note_arrival(from, fragment);
  ReceiveStream* stream = find(from, cookie);
  if (stream == nullptr) return buffers_.drop(from, fragment);  // the receive has been dropped
  announce(*stream, fragment.bytes);
  if (stream->request == nullptr) return keep_fragment(*stream, fragment);
  take_fragment(*stream, fragment);
  finish_if_whole(*stream);
}

// If a recycled buffer arrived, the earlier fragment that this process sent in it counts as acknowledged. Its
// release mark is still not set, because the buffer may be kept here now. If the buffer belongs to this
// process's pool, the peer no longer holds it.
void LongReceives::note_arrival(PeerIndex from, const Fragment& fragment) {
  sends_.note_answer(from, fragment);
  buffers_.came(from, fragment);
}

void LongReceives::on_ring_fragment(PeerIndex from, uint32_t cookie, const std::byte* payload, size_t bytes) {
  ReceiveStream* stream = find(from, cookie);
  if (stream == nullptr || stream->request == nullptr) return;
  announce(*stream, static_cast<int64_t>(bytes));
  take_bytes(*stream, payload, static_cast<int64_t>(bytes));
  finish_if_whole(*stream);
}

void LongReceives::announce(ReceiveStream& stream, int64_t bytes) const {
  stream.announced_bytes += bytes;
  if (__builtin_expect(stream.announced_bytes <= stream.total_bytes, 1)) return;
  shm::report_corruption("rank %d announces %lld bytes of a message of %lld bytes to rank %d", stream.from,
                         static_cast<long long>(stream.announced_bytes),
                         static_cast<long long>(stream.total_bytes), self_);
}

// Stores a fragment that arrived before the match. No sender has more in flight, and none sends fragments in
// buffers that its announcement did not begin.
void LongReceives::keep_fragment(const ReceiveStream& stream, const Fragment& fragment) const {
  EarlyFragments* const early = stream.early;
  if (early == nullptr || early->count == kFragmentsInFlightMax) buffers_.refuse(stream.from, fragment);
  early->fragments[static_cast<size_t>(early->count++)] = fragment;
}

void LongReceives::take_fragment(ReceiveStream& stream, const Fragment& fragment) {
  take_bytes(stream, buffers_.memory_of(stream.from, fragment), fragment.bytes);
  chaos::at(chaos::Point::buffer_emptied);
  buffers_.emptied(stream.from, fragment, stream.keeps_buffers && !sends_.any_unfinished_to(stream.from));
}

void LongReceives::take_bytes(ReceiveStream& stream, const std::byte* data, int64_t bytes) {
  Request& request = *stream.request;
  const int64_t room = request.count * request.type->size;
  const int64_t fitting = std::clamp<int64_t>(room - stream.copied_bytes, 0, bytes);
  if (fitting > 0) {
    const profile::CopyTimer timer(recorder_, stream.from, static_cast<uint64_t>(fitting));
    stream.prefault.prepare(static_cast<size_t>(stream.copied_bytes + fitting));
    const auto length = static_cast<size_t>(fitting);
    std::byte* const to = first_byte(request) + stream.copied_bytes;
    if (!datatype::is_one_run(*request.type, request.count)) {
      datatype::unpack(*request.type, request.buffer, stream.copied_bytes, data, length);
    } else if (LoadPolicy::has_choice(stream.total_bytes, length)) {
      pairs_.at(stream.from).load_policy.read(to, data, length);
    } else {
      copy_shared_bytes(to, data, length, static_cast<uint64_t>(stream.total_bytes));
    }
  }
  stream.copied_bytes += bytes;
}

void LongReceives::on_recall(PeerIndex from, uint32_t cookie) {
  if (ReceiveStream* stream = find(from, cookie); stream != nullptr) stream->keeps_buffers = false;
  buffers_.release_recycled(from);
}

// Ends.

void LongReceives::note_single_copy(ReceiveStream& stream) {
  stream.announced_bytes = stream.copied_bytes = stream.total_bytes;
  ++counters_.single_copies;
  counters_.single_copy_bytes += static_cast<uint64_t>(stream.total_bytes);
}

// The sender's answer to a request to write the message.
bool LongReceives::on_written(PeerIndex from, uint32_t cookie, uint8_t flags) {
  ReceiveStream* stream = find(from, cookie);
  if (stream == nullptr || !stream->asked_to_write) return false;
  stream->asked_to_write = false;
  if (flags & kNeverWritten) copies_.writing_declined(from);
  if (flags & kNotWritten) {
    stream->by_single_copy = false;  // the message comes in fragments
    return true;
  }
  note_single_copy(*stream);
  finish_if_whole(*stream);
  return true;
}

bool LongReceives::on_buffer_came(PeerIndex from, uint32_t slot) {
  ReceiveStream* stream = streams_.at(slot);
  if (stream == nullptr || stream->from != from || !stream->buffer_awaited) return false;
  stream->announced_bytes = stream->copied_bytes = stream->total_bytes;
  finish_if_whole(*stream);
  return true;
}

void LongReceives::finish_if_whole(ReceiveStream& stream) {
  if (stream.copied_bytes < stream.total_bytes) return;
  Request& request = *stream.request;
  const PeerIndex from = stream.from;
  const int64_t bytes = stream.total_bytes;
  copies_.ended(stream);
  unlist(expected_from(from), stream);
  streams_.destroy(&stream);
  counters_.long_bytes_received += static_cast<uint64_t>(bytes);
  if (traffic_ != nullptr) atomic::store_relaxed(traffic_->received, counters_.long_bytes_received);
  requests_.complete_receive(request, from, request.received_tag, bytes);
}

void LongReceives::end(ReceiveStream& stream, Status status) {
  Request& request = *stream.request;
  const PeerIndex from = stream.from;
  unlist(expected_from(from), stream);
  streams_.destroy(&stream);
  requests_.end_receive(request, from, status);
}

void LongReceives::drop(ReceiveStream& stream) {
  if (stream.early != nullptr) {
    for (const Fragment& fragment : stream.early->stored()) buffers_.drop(stream.from, fragment);
    early_.destroy(stream.early);
  }
  unlist(expected_from(stream.from), stream);
  streams_.destroy(&stream);
}

}  // namespace hearth::p2p
