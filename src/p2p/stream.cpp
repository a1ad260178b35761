// Long messages: pieces through cells, or straight from the sender's memory.
//
//   sender                                         receiver
//   rendezvous {length, address, first cells}  ->  matches (or waits), copies the cells out, marks them free
//   cells {more}                               ->  ...
//     each marked cell may be filled again     <-  mark
//
// So the cells are the credit and no handshake is needed: a sender holds at most a few cells for one
// message, and goes on when the receiver has emptied one. Only a sender that got no cell at all waits for
// clear_to_send, and then sends fragments through the ring, which every pair has to itself: no message can
// be stuck behind another pair's.
//
// Between machines there are no cells. Where both buffers are one run of bytes the transport carries the
// whole from one to the other (kInOneRun, kBufferAwaited); else all of it goes in fragments.
#include "p2p/stream.h"

#include <algorithm>

#include "base/copy.h"
#include "datatype/type.h"
#include "p2p/engine.h"
#include "profile/recorder.h"

namespace hearth::p2p {
namespace {

constexpr int64_t kPartBytesMin = 2048;
constexpr int64_t kTailBytesMin = 8192;
// Past the caches a piece ends with a fence, and its reader fetches it from memory: fewer are better.
constexpr int64_t kStreamedPartBytesMin = 4096;
constexpr int64_t kStreamedTailBytesMin = 16384;

// The length of the next piece. Pieces grow as long as half of what is left is longer, so that little is left
// to copy out when the last byte has been copied in.
int64_t next_part(const SendStream& stream, const Peer& peer, const PairProtocol& limits) {
  const int64_t left = stream.total_bytes - stream.sent_bytes;
  const int64_t tail = peer.filler.streams() ? kStreamedTailBytesMin : kTailBytesMin;
  return std::min(
      {stream.next_part_bytes, static_cast<int64_t>(limits.part_bytes_max), std::max(left / 2, tail), left});
}

// How long it must be at least, so that the rest still fits the parts that may be under way: a message that
// cells can hold whole must not wait for its receiver because its parts were short. 0: longer ones have to
// wait.
int64_t least_part(const SendStream& stream, const PairProtocol& limits) {
  const int64_t left = stream.total_bytes - stream.sent_bytes;
  const auto longest = static_cast<int64_t>(limits.part_bytes_max);
  const int64_t rest = (limits.cells_in_flight_max - stream.in_flight - 1) * longest;
  return left > rest + longest ? 0 : left - rest;
}

// What is begun that way may still go through cells (on_clear_to_send).
Protocol way_of(const SendStream& stream) {
  if (stream.offered == kInArena) return Protocol::arena;
  return stream.offered == kSingleCopy ? Protocol::single_copy : Protocol::cells;
}

// What need not be offered again.
uint8_t what_failed(const ReceiveStream& stream) {
  if (stream.flags & kInArena) return kNoArena;
  return stream.flags & kSingleCopy ? kNoSingleCopy : 0;
}

}  // namespace

// Sender.

bool Engine::start_rendezvous(Request& request, Peer& peer, int64_t bytes, bool held) {
  Status status;
  const PeerIndex to = request.key.peer;
  std::byte* line = transport_.claim(to, sizeof(RendezvousStart), status);
  if (line == nullptr) {
    if (status.ok()) return false;
    complete_send(request, status);
    return true;
  }
  SendStream* stream = send_streams_.create();
  if (stream == nullptr) out_of_memory("a long message", sizeof(SendStream), to);
  stream->request = &request;
  stream->total_bytes = bytes;
  ++counters_.long_messages_sent;
  counters_.long_bytes_sent += static_cast<uint64_t>(bytes);
  if (traffic_ != nullptr) atomic::store_relaxed(traffic_->sent, counters_.long_bytes_sent);
  const PairProtocol& limits = limits_for(request.key);
  // Pieces start small, so that copying in and out overlap early, and grow. A short message is two pieces.
  const int64_t part_bytes_min = peer.filler.streams() ? kStreamedPartBytesMin : kPartBytesMin;
  stream->next_part_bytes =
      std::min(std::max(bytes / 2, part_bytes_min), static_cast<int64_t>(limits.first_part_bytes));
  request.send_stream = stream;

  RendezvousStart start = {};
  start.bytes = static_cast<uint64_t>(bytes);
  stream->offered = offer(request, peer, start.bytes, start.address);
  stream->held = held || stream->offered != 0;
  if (!stream->held) {
    const int64_t part = std::max(next_part(*stream, peer, limits), least_part(*stream, limits));
    const int cell = next_cells(*stream, part);
    if (cell >= 0) {
      const profile::CopyTimer timer(recorder_, to, static_cast<uint64_t>(part));
      peer.filler.fill(*request.type, request.buffer, 0, transport_.own_cell(cell),
                       static_cast<size_t>(part));
      start.parts[0] = {static_cast<uint32_t>(cell), static_cast<uint32_t>(part)};
      stream->sent_bytes = part;
      stream->next_part_bytes *= 2;
    } else {
      stream->held = true;
    }
  }
  auto flags = static_cast<uint8_t>((request.await_match ? kSynchronous : 0) | stream->offered);
  if (limits.part_bytes_max == 0 && transport_.carries_buffers(to) &&
      datatype::is_one_run(*request.type, request.count)) {
    flags |= kInOneRun;
  }
  copy_bytes(shm::payload_at(line), &start, sizeof start);
  transport_.commit(to, static_cast<uint8_t>(PacketKind::rendezvous), flags, sizeof start,
                    issue_cookie(request), match_word(request.key.context, request.key.tag));
  if (__builtin_expect(peer.profiled, 0)) {
    recorder_->sent(to, static_cast<int>(way_of(*stream)), start.bytes, request.key.tag, false);
  }
  if (!stream->held) {
    note_sent(to, bytes);
    list(sending_, *stream);
    push(*stream);
  }
  return true;
}

// Forgets the pieces that the receiver has emptied. The first one shows that the message has been matched.
void Engine::retire(SendStream& stream) {
  while (stream.in_flight > 0) {
    const SendStream::Part& part = stream.parts[static_cast<size_t>(stream.oldest)];
    if (!transport_.cell_returned(part.cell, part.ticket)) return;
    stream.oldest = (stream.oldest + 1) % kCellsInFlightMax;
    --stream.in_flight;
    stream.cleared = true;
  }
}

// Cells for the next piece, unless the message has as many under way as it may. -1: wait. Marks are looked at
// only then: each look takes the mark's line away from the receiver.
int Engine::next_cells(SendStream& stream, int64_t bytes) {
  const Peer& peer = know(stream.request->key.peer);
  const PairProtocol& limits = limits_for(stream.request->key);
  if (limits.part_bytes_max == 0) return -1;
  const int in_flight_max = limits.cells_in_flight_max;
  if (stream.in_flight >= in_flight_max) {
    retire(stream);
    if (stream.in_flight >= in_flight_max) return -1;
  }
  const int cell = transport_.take_cells(static_cast<size_t>(bytes), !peer.filler.streams());
  if (cell < 0) {
    retire(stream);
    return -1;
  }
  stream.parts[static_cast<size_t>((stream.oldest + stream.in_flight) % kCellsInFlightMax)] = {
      cell, transport_.cell_ticket(cell)};
  note_receiver(cell, stream.request->key.peer);
  ++stream.in_flight;
  return cell;
}

// Sends what can be sent now; whether anything was.
bool Engine::push(SendStream& stream) {
  if (stream.held) return false;
  Request& request = *stream.request;
  const PeerIndex to = request.key.peer;
  if (stream.to_answer) {
    if (!try_answer(to, {PacketKind::written, stream.answer_flags, cookie_of(request)})) return false;
    stream.to_answer = false;
    if (!(stream.answer_flags & kNotWritten)) stream.sent_bytes = stream.total_bytes;
  }
  if (stream.buffer_awaited) return push_buffer(stream);
  Peer& peer = know(to);
  const PairProtocol& limits = limits_for(request.key);
  bool moved = false;
  while (stream.sent_bytes < stream.total_bytes) {
    if (limits.part_bytes_max == 0) {
      if (!push_fragment(stream)) return moved;
      moved = true;
      continue;
    }
    Status status;
    std::byte* line = transport_.claim(to, sizeof(MoreCells), status);
    if (line == nullptr) return moved;
    int64_t part = next_part(stream, peer, limits);
    if (part < least_part(stream, limits)) {
      // The receiver may have emptied some meanwhile.
      retire(stream);
      part = std::max(part, least_part(stream, limits));
    }
    const int cell = next_cells(stream, part);
    if (cell < 0) {
      // Without a single cell, others holding them all, a message that was matched still has its ring.
      if (stream.in_flight > 0 || !stream.cleared || !push_fragment(stream)) return moved;
      moved = true;
      continue;
    }
    {
      const profile::CopyTimer timer(recorder_, to, static_cast<uint64_t>(part));
      peer.filler.fill(*request.type, request.buffer, stream.sent_bytes, transport_.own_cell(cell),
                       static_cast<size_t>(part));
    }
    MoreCells more = {};
    more.parts[0] = {static_cast<uint32_t>(cell), static_cast<uint32_t>(part)};
    copy_bytes(shm::payload_at(line), &more, sizeof more);
    transport_.commit(to, static_cast<uint8_t>(PacketKind::cells), 0, sizeof more, cookie_of(request), 0);
    stream.sent_bytes += part;
    stream.next_part_bytes =
        std::min(stream.next_part_bytes * 2, static_cast<int64_t>(limits.part_bytes_max));
    moved = true;
  }
  end_stream(stream);
  return true;
}

bool Engine::push_fragment(SendStream& stream) {
  Request& request = *stream.request;
  const PeerIndex to = request.key.peer;
  const auto bytes = std::min(static_cast<size_t>(stream.total_bytes - stream.sent_bytes),
                              static_cast<size_t>(transport_.limits_to(to).packet_bytes_max));
  Status status;
  std::byte* line = transport_.claim(to, bytes, status);
  if (line == nullptr) return false;
  datatype::pack(*request.type, request.buffer, stream.sent_bytes, shm::payload_at(line), bytes);
  transport_.commit(to, static_cast<uint8_t>(PacketKind::fragment), 0, bytes, cookie_of(request), 0);
  stream.sent_bytes += static_cast<int64_t>(bytes);
  return true;
}

// The whole at once. It is over when the transport says buffer_left.
bool Engine::push_buffer(SendStream& stream) {
  Request& request = *stream.request;
  const auto over = static_cast<uint8_t>(PacketKind::buffer_left);
  if (!transport_.send_buffer(request.key.peer, cookie_of(request), first_byte(request),
                              static_cast<size_t>(stream.total_bytes),
                              {shm::PacketHeader::make_commit(over, 0, 0, cookie_of(request)), 0})) {
    return false;
  }
  stream.buffer_awaited = false;
  stream.held = true;
  unlist(sending_, stream);
  return true;
}

// All bytes have left the user's buffer. Cells that are still with the receiver come back to the pool by
// themselves.
void Engine::end_stream(SendStream& stream) {
  Request& request = *stream.request;
  unlist(sending_, stream);
  if (stream.offered != 0) peers_[static_cast<size_t>(request.key.peer)].skew.lent_is_over();
  request.send_stream = nullptr;
  send_streams_.destroy(&stream);
  if (!request.await_match) complete_send(request, {});
}

void Engine::on_clear_to_send(Request& request, uint8_t flags) {
  if (flags & kNoSingleCopy) peers_[static_cast<size_t>(request.key.peer)].single_copy_declined = true;
  if (flags & kNoArena) peers_[static_cast<size_t>(request.key.peer)].arena_declined = true;
  if (request.send_stream == nullptr) return;
  SendStream& stream = *request.send_stream;
  stream.buffer_awaited = (flags & kBufferAwaited) != 0;
  if (recorder_ != nullptr && stream.offered != 0) {
    recorder_->fell_back(request.key.peer, static_cast<int>(way_of(stream)),
                         static_cast<uint64_t>(stream.total_bytes));
  }
  let_go(stream);
}

// What was held goes on: the receiver has matched it and says how.
void Engine::let_go(SendStream& stream) {
  stream.held = false;
  stream.cleared = true;
  if (stream.place < 0) list(sending_, stream);
  push(stream);
}

// Receiver.

void Engine::on_rendezvous(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
  RendezvousStart start;
  copy_bytes(&start, payload, sizeof start);
  ReceiveStream* stream = receive_streams_.create();
  if (stream == nullptr) out_of_memory("a long message", sizeof(ReceiveStream), from);
  stream->from = from;
  stream->cookie = header.cookie();
  stream->flags = header.flags();
  stream->address = start.address;
  stream->total_bytes = static_cast<int64_t>(start.bytes);
  for (const CellPart& part : start.parts) {
    if (part.bytes == 0) break;
    keep_part(*stream, part);
    stream->announced_bytes += part.bytes;
  }
  // More pieces come unasked only where some have come already; a held message is listed once it has matched.
  if (stream->announced_bytes > 0 && stream->announced_bytes < stream->total_bytes) {
    list(peers_[static_cast<size_t>(from)].streams, *stream);
  }

  const MatchKey key = {context_of(header.match), from, tag_of(header.match)};
  if (recorder_ != nullptr && traced()) recorder_->arrived(from, start.bytes, key.tag);
  if (MatchEntry* entry = posted_.take(key); entry != nullptr) {
    if (header.flags() & kSynchronous) answer(from, PacketKind::matched, 0, header.cookie());
    attach(*stream, static_cast<Request&>(*entry), key.tag);
    return;
  }
  UnexpectedMessage* message = unexpected_pool_.create();
  if (message == nullptr) out_of_memory("an unexpected message", sizeof(UnexpectedMessage), from);
  message->key = key;
  message->flags = header.flags();
  message->cookie = header.cookie();
  message->bytes = stream->total_bytes;
  message->stream = stream;
  message->payload = message->own;
  unexpected_.add(*message);
  transport_.add_unexpected_bytes(from, static_cast<int64_t>(sizeof(UnexpectedMessage)));
  if (recorder_ != nullptr) recorder_->unexpected(unexpected_.size(), 0);
}

void Engine::attach(ReceiveStream& stream, Request& request, int tag) {
  stream.request = &request;
  request.received_tag = tag;
  const bool nothing_sent = stream.announced_bytes == 0;
  if (fresh_pages_ && datatype::is_one_run(*request.type, request.count)) {
    stream.fresh =
        FreshPages(static_cast<std::byte*>(request.buffer) + request.type->true_lower_bound,
                   static_cast<size_t>(std::min(stream.total_bytes, request.count * request.type->size)));
  }
  for (int i = 0; i < stream.part_count; ++i) take_part(stream, stream.parts[static_cast<size_t>(i)]);
  stream.part_count = 0;
  if (nothing_sent) {
    const Copied copied = copy_from_sender(stream, request);
    if (copied == Copied::whole) {
      answer(stream.from, PacketKind::finished, 0, stream.cookie);
      has_come(stream);
    } else if (stream.total_bytes > 0) {
      list(peers_[static_cast<size_t>(stream.from)].streams, stream);
    }
    if (copied == Copied::not_now || copied == Copied::never) {
      uint8_t said = copied == Copied::never ? what_failed(stream) : uint8_t{0};
      if (await_buffer(stream)) said |= kBufferAwaited;
      answer(stream.from, PacketKind::clear_to_send, said, stream.cookie);
    }
  }
  finish_if_whole(stream);
}

// Has the transport put the message straight into the receive buffer, where that is one run and holds it all.
bool Engine::await_buffer(ReceiveStream& stream) {
  const Request& request = *stream.request;
  const int64_t bytes = stream.total_bytes;
  if (!(stream.flags & kInOneRun) || bytes > request.count * request.type->size ||
      !datatype::is_one_run(*request.type, request.count)) {
    return false;
  }
  const auto over = static_cast<uint8_t>(PacketKind::buffer_came);
  stream.buffer_awaited =
      transport_.await_buffer(stream.from, stream.cookie, first_byte(request), static_cast<size_t>(bytes),
                              {shm::PacketHeader::make_commit(over, 0, 0, stream.slot), 0});
  return stream.buffer_awaited;
}

bool Engine::on_buffer_came(PeerIndex from, uint32_t slot) {
  ReceiveStream* stream = receive_streams_.at(slot);
  if (stream == nullptr || stream->from != from || !stream->buffer_awaited) return false;
  stream->announced_bytes = stream->copied_bytes = stream->total_bytes;
  finish_if_whole(*stream);
  return true;
}

// All of it, copied once.
void Engine::has_come(ReceiveStream& stream) {
  stream.announced_bytes = stream.copied_bytes = stream.total_bytes;
  ++counters_.single_copies;
  counters_.single_copy_bytes += static_cast<uint64_t>(stream.total_bytes);
}

ReceiveStream* Engine::stream_of(PeerIndex from, uint32_t cookie) {
  // The sender may use a cookie again once it has announced everything, so look for one that still arrives.
  for (ReceiveStream* stream : peers_[static_cast<size_t>(from)].streams) {
    if (stream->cookie == cookie && stream->announced_bytes < stream->total_bytes) return stream;
  }
  return nullptr;
}

void Engine::on_parts(PeerIndex from, uint32_t cookie, std::span<const CellPart> parts) {
  ReceiveStream* stream = stream_of(from, cookie);
  // Nobody wants it any more (failure.cpp).
  if (stream == nullptr) return return_parts(from, parts);
  for (const CellPart& part : parts) {
    if (part.bytes == 0) break;
    stream->announced_bytes += part.bytes;
    if (stream->request != nullptr) {
      take_part(*stream, part);
    } else {
      keep_part(*stream, part);
    }
  }
  if (stream->request != nullptr) finish_if_whole(*stream);
}

void Engine::on_fragment(PeerIndex from, uint32_t cookie, const std::byte* payload, size_t bytes) {
  ReceiveStream* stream = stream_of(from, cookie);
  if (stream == nullptr || stream->request == nullptr) return;
  stream->announced_bytes += static_cast<int64_t>(bytes);
  take_bytes(*stream, payload, static_cast<int64_t>(bytes));
  finish_if_whole(*stream);
}

void Engine::return_parts(PeerIndex owner, std::span<const CellPart> parts) {
  for (const CellPart& part : parts) {
    if (part.bytes == 0) return;
    const auto cell = static_cast<int>(part.cell);
    if (transport_.cells_of(owner, cell, part.bytes) != nullptr) give_back(owner, cell, part.bytes);
  }
}

// Before the match. A sender holds no more cells than the limit, so more than fit are a damaged packet's.
void Engine::keep_part(ReceiveStream& stream, const CellPart& part) {
  if (stream.part_count == kCellsInFlightMax) return;
  stream.parts[static_cast<size_t>(stream.part_count++)] = part;
}

void Engine::take_part(ReceiveStream& stream, const CellPart& part) {
  const std::byte* data = transport_.cells_of(stream.from, static_cast<int>(part.cell), part.bytes);
  if (data == nullptr) return;
  take_bytes(stream, data, part.bytes);
  give_back(stream.from, static_cast<int>(part.cell), part.bytes);
}

void Engine::take_bytes(ReceiveStream& stream, const std::byte* data, int64_t bytes) {
  Request& request = *stream.request;
  const int64_t room = request.count * request.type->size;
  const int64_t fitting = std::clamp<int64_t>(room - stream.copied_bytes, 0, bytes);
  if (fitting > 0) {
    const profile::CopyTimer timer(recorder_, stream.from, static_cast<uint64_t>(fitting));
    stream.fresh.prepare(static_cast<size_t>(stream.copied_bytes + fitting));
    datatype::unpack(*request.type, request.buffer, stream.copied_bytes, data, static_cast<size_t>(fitting));
  }
  stream.copied_bytes += bytes;
}

void Engine::finish_if_whole(ReceiveStream& stream) {
  if (stream.copied_bytes < stream.total_bytes) return;
  Request& request = *stream.request;
  unlist(peers_[static_cast<size_t>(stream.from)].streams, stream);
  const PeerIndex from = stream.from;
  const int64_t bytes = stream.total_bytes;
  receive_streams_.destroy(&stream);
  counters_.long_bytes_received += static_cast<uint64_t>(bytes);
  if (traffic_ != nullptr) atomic::store_relaxed(traffic_->received, counters_.long_bytes_received);
  complete_receive(request, from, request.received_tag, bytes);
}

}  // namespace hearth::p2p
