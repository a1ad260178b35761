// Long messages: fragments through bounce buffers, or directly from the sender's memory.
//
//   sender                                          receiver
//   rendezvous {length, address, fragment}   ->     matches (or waits), copies the fragment out, marks its
//                                                   buffer as free
//   cells {next fragment}                    ->     ...
//   may fill a released buffer again         <-     release mark
//
// So the bounce buffers are the credit, and no handshake is needed: a sender holds at most a few of them for
// one message, and continues when the receiver has released one. Only a sender that got no buffer at all
// waits for clear_to_send. It then sends fragments through the ring. Each pair has its own ring, so no
// message can be blocked by another pair's messages.
//
// Between machines there are no bounce buffers. If both user buffers are contiguous, the transport transfers
// the whole message from one to the other (kInOneRun, kBufferAwaited); otherwise all of it goes in fragments.
#include "p2p/stream.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/copy.h"
#include "datatype/type.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "profile/recorder.h"
#include "shm/corruption.h"

namespace hearth::p2p {
namespace {

constexpr int64_t kPartBytesMin = 2048;
constexpr int64_t kTailBytesMin = 16384;
constexpr int64_t kPartsMin = 8;
// Streaming stores end a fragment with a fence, and the reader fetches it from memory: fewer fragments are
// better.
constexpr int64_t kStreamedPartBytesMin = 4096;

// Length of the first fragment. A short message is sent in two fragments. Each fragment has a start-up cost
// on both sides, so fragments of long messages begin longer.
int64_t first_part(int64_t total_bytes, bool streams, const PairProtocol& limits) {
  const auto longest = static_cast<int64_t>(limits.first_part_bytes);
  const int64_t least = streams ? kStreamedPartBytesMin : kPartBytesMin;
  return std::min(std::max(total_bytes / 2, least), total_bytes < 6 * longest ? longest / 2 : longest);
}

// Length of the next fragment. Fragments are short compared to the message, so that copying in and copying
// out overlap. They are short at its end, so that little is left to copy out after the last byte has been
// copied in.
int64_t next_part(const SendStream& stream, const PairProtocol& limits) {
  const int64_t left = stream.total_bytes - stream.sent_bytes;
  return std::min({stream.next_part_bytes, static_cast<int64_t>(limits.part_bytes_max),
                   stream.recycles ? std::max(stream.total_bytes / kPartsMin, kTailBytesMin) : left,
                   std::max(left / 2, kTailBytesMin), left});
}

// Fragments start small and grow. In recycled buffers, two consecutive fragments have the same length:
// copying in is not twice as fast as copying out, so the receiver would run dry if each fragment were twice
// as long as the previous one.
void grow_parts(SendStream& stream, const PairProtocol& limits) {
  const auto longest = static_cast<int64_t>(limits.part_bytes_max);
  if (!stream.recycles || stream.next_is_longer)
    stream.next_part_bytes = std::min(2 * stream.next_part_bytes, longest);
  stream.next_is_longer = !stream.next_is_longer;
}

// Fragments in recycled buffers are short and do not fill the caches, so twice as many may be in flight.
int in_flight_max(const SendStream& stream, const PairProtocol& limits) {
  return stream.recycles ? std::min(2 * limits.cells_in_flight_max, kCellsInFlightMax)
                         : limits.cells_in_flight_max;
}

// Minimum length of the next fragment, so that the rest fits the fragments that may still be in flight: a
// message that fits the bounce buffers must not wait for its receiver because its fragments were short. 0 for
// longer messages, which wait in any case.
int64_t least_part(const SendStream& stream, const PairProtocol& limits) {
  const int64_t left = stream.total_bytes - stream.sent_bytes;
  const auto longest = static_cast<int64_t>(limits.part_bytes_max);
  const int64_t rest = (in_flight_max(stream, limits) - stream.in_flight - 1) * longest;
  return left > rest + longest ? 0 : left - rest;
}

// The protocol by which the message begins; it may change to bounce buffers later (on_clear_to_send).
Protocol way_of(const SendStream& stream) {
  if (stream.offered == kInArena) return Protocol::arena;
  return stream.offered == kSingleCopy ? Protocol::single_copy : Protocol::cells;
}

// Flags of the protocol that failed and is not to be offered again.
uint8_t what_failed(const ReceiveStream& stream) {
  if (stream.flags & kInArena) return kNoArena;
  return stream.flags & kSingleCopy ? kNoSingleCopy : 0;
}

}  // namespace

// Two thirds of a pool, of which part_bytes_max is a quarter, divided among all peers.
int64_t Engine::recycled_bytes_max(size_t part_bytes_max, int processes) {
  return static_cast<int64_t>(part_bytes_max) * 8 / 3 / std::max(processes - 1, 1);
}

void Engine::give_back_recycled(PeerIndex peer) {
  RecycledBuffers& recycled = peers_[static_cast<size_t>(peer)].recycled;
  while (!recycled.empty()) deferred_.release(peer, recycled.take());
  deferred_.release_now();
}

// Sender.

/// Also reserves room in sending_, so that listing the stream never allocates. nullptr: no memory.
SendStream* Engine::make_send_stream() {
  constexpr size_t kPlacesMin = 16;
  if (sending_.capacity() <= send_streams_.live()) {
    try {
      sending_.reserve(std::max(kPlacesMin, 2 * sending_.capacity()));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  return send_streams_.create();
}

bool Engine::start_rendezvous(Request& request, Peer& peer, int64_t bytes, bool held) {
  Status status;
  const PeerIndex to = request.key.peer;
  RendezvousStart start = {};
  start.bytes = static_cast<uint64_t>(bytes);
  shm::Exposure exposure;
  const uint8_t offered = offer(request, peer, start.bytes, start.address, exposure);
  const size_t start_bytes = rendezvous_bytes(offered);
  std::byte* line = transport_.claim(to, start_bytes, status);
  if (line == nullptr) {
    if (status.ok()) return false;
    requests_.complete_send(request, status);
    return true;
  }
  SendStream* stream = make_send_stream();
  if (stream == nullptr) {
    // Nothing has been sent yet, so only this message fails.
    if (offered != 0) peer.skew.zero_copy_ended();
    requests_.complete_send(request, fail(MPI_ERR_NO_MEM, "no memory for a long message to process %d", to));
    return true;
  }
  stream->request = &request;
  stream->total_bytes = bytes;
  stream->recycles = bytes <= recycled_bytes_max_ && !peer.recycled.one_way();
  if (std::exchange(peer.sample_due, false)) give_back_recycled(to);  // so that this message uses new buffers
  ++counters_.long_messages_sent;
  counters_.long_bytes_sent += static_cast<uint64_t>(bytes);
  if (traffic_ != nullptr) atomic::store_relaxed(traffic_->sent, counters_.long_bytes_sent);
  const PairProtocol& limits = pairs_.limits_for(request.key);
  stream->next_part_bytes = first_part(bytes, pairs_.at(to).store_policy.streams(), limits);
  request.send_stream = stream;

  stream->offered = offered;
  stream->exposure = std::move(exposure);
  stream->held = held || offered != 0 || !fill_part(*stream, start.part);
  auto flags = static_cast<uint8_t>((request.await_match ? kSynchronous : 0) | offered);
  if (limits.part_bytes_max == 0 && transport_.carries_buffers(to) &&
      datatype::is_one_run(*request.type, request.count)) {
    flags |= kInOneRun;
  }
  copy_bytes(shm::payload_at(line), &start, start_bytes);
  transport_.commit(to, static_cast<uint8_t>(PacketKind::rendezvous), flags, start_bytes,
                    requests_.issue_cookie(request), match_word(request.key.context, request.key.tag));
  chaos::at(chaos::Point::rendezvous_announced);
  if (__builtin_expect(peer.profiled, 0)) {
    recorder_->sent(to, static_cast<int>(way_of(*stream)), start.bytes, request.key.tag, false);
  }
  if (!stream->held) {
    if (pairs_.at(to).store_policy.near()) deferred_.sent_in_buffers(bytes);
    list(sending_, *stream);
    push(*stream);
  }
  return true;
}

// Retires the fragments that the receiver has emptied. The first one shows that the message has been matched.
void Engine::retire(SendStream& stream) {
  while (stream.in_flight > 0) {
    const SendStream::Part& part = stream.parts[static_cast<size_t>(stream.oldest)];
    if (part.cell >= 0 && !transport_.cell_returned(part.owner, part.cell, part.ticket)) return;
    stream.oldest = (stream.oldest + 1) % kCellsInFlightMax;
    --stream.in_flight;
    stream.cleared = true;
  }
}

// Writes the next fragment of a message into recycled buffers of the pair, otherwise into new ones of the own
// pool. False: wait, because the message has reached its limit of fragments in flight or no cells are free.
// Release marks are polled only then, because each poll takes the mark's cache line away from the receiver.
bool Engine::fill_part(SendStream& stream, CellPart& part) {
  const Request& request = *stream.request;
  const PeerIndex to = request.key.peer;
  Peer& peer = peers_[static_cast<size_t>(to)];
  const PairProtocol& limits = pairs_.limits_for(request.key);
  if (limits.part_bytes_max == 0) return false;
  int64_t bytes = next_part(stream, limits);
  // Retire the fragments that the receiver has emptied, but only if this message is at its limit.
  const int in_flight_most = in_flight_max(stream, limits);
  if (stream.in_flight >= in_flight_most || bytes < least_part(stream, limits)) retire(stream);
  if (stream.in_flight >= in_flight_most) {
    recall(stream);
    return false;
  }
  bytes = std::max(bytes, least_part(stream, limits));
  PeerIndex owner = self_;
  int cell = -1;
  bool kept = false;
  while (!kept && !peer.recycled.empty()) {
    const CellPart run = peer.recycled.take();
    const int64_t fitting = std::min<int64_t>(run.bytes, stream.total_bytes - stream.sent_bytes);
    kept = fitting >= bytes - bytes / 4;
    if (kept) {
      owner = owner_of(run, self_, to);
      cell = number_of(run);
      // Fill it to its previous length. The receiver keeps only the length that was filled, so a shorter
      // fragment would shorten the buffer permanently.
      if (fitting <= 2 * bytes) bytes = fitting;
    } else {
      deferred_.release(to, run);  // too short to be worth a packet
    }
  }
  if (!kept) cell = take_cells(stream, bytes);
  if (cell < 0) {
    // With no fragment in flight, no recall is needed: an unmatched message gets clear_to_send without a
    // request, and a matched one can use the ring.
    if (stream.in_flight > 0) recall(stream);
    return false;
  }
  if (owner == self_) note_receiver(cell, to);
  stream.parts[static_cast<size_t>((stream.oldest + stream.in_flight) % kCellsInFlightMax)] = {
      owner, cell, transport_.cell_ticket(owner, cell)};
  chaos::at(chaos::Point::cell_taken);
  ++stream.in_flight;
  peer.recycled.sent(bytes, recycled_bytes_max_);

  const auto length = static_cast<size_t>(bytes);
  std::byte* memory = transport_.cells_of(owner, cell, length);
  {
    const profile::CopyTimer timer(recorder_, to, static_cast<uint64_t>(bytes));
    if (kept) {
      datatype::pack(*request.type, request.buffer, stream.sent_bytes, memory, length);
    } else {
      pairs_.at(to).store_policy.fill(*request.type, request.buffer, stream.sent_bytes, memory, length);
    }
  }
  part = {static_cast<uint32_t>(cell) | (owner == self_ ? 0 : kCellOfReceiver), static_cast<uint32_t>(bytes)};
  stream.sent_bytes += bytes;
  grow_parts(stream, limits);
  return true;
}

// Asks the receiver to release the buffers that it keeps for recycling, because it does not release them
// otherwise. Rarely needed: messages whose buffers may be recycled normally fit the limit of fragments in
// flight and the pool, unless memory is short.
void Engine::recall(SendStream& stream) {
  if (stream.recalled || stream.total_bytes > recycled_bytes_max_) return;
  stream.recalled = true;
  answer(stream.request->key.peer, PacketKind::recall, 0, RequestTable::cookie_of(*stream.request));
}

void Engine::on_recall(PeerIndex from, uint32_t cookie) {
  if (ReceiveStream* stream = stream_of(from, cookie); stream != nullptr) stream->keeps_buffers = false;
  give_back_recycled(from);
}

// Takes free cells of the own pool; -1: none. If buffers that peers keep leave no room for a long run, a
// shorter run is used, because the peers may have no reason to release any of them soon.
int Engine::take_cells(SendStream& stream, int64_t& bytes) {
  const PeerIndex to = stream.request->key.peer;
  const Peer& peer = peers_[static_cast<size_t>(to)];
  const bool gap = !pairs_.at(to).store_policy.streams() && peer.recycled.one_way();
  int cell = transport_.take_cells(static_cast<size_t>(bytes), gap);
  if (cell < 0) retire(stream);
  while (cell < 0 && stream.in_flight == 0 && bytes >= 2 * kPartBytesMin) {
    bytes /= 2;
    cell = transport_.take_cells(static_cast<size_t>(bytes), gap);
  }
  return cell;
}

// Sends as much as possible now. True if anything was sent.
bool Engine::push(SendStream& stream) try {
  if (stream.held) return false;
  Request& request = *stream.request;
  const PeerIndex to = request.key.peer;
  if (stream.to_answer) {
    if (!try_answer(to, {PacketKind::written, stream.answer_flags, RequestTable::cookie_of(request)}))
      return false;
    stream.to_answer = false;
    if (!(stream.answer_flags & kNotWritten)) stream.sent_bytes = stream.total_bytes;
  }
  if (stream.buffer_awaited) return push_buffer(stream);
  const PairProtocol& limits = pairs_.limits_for(request.key);
  bool moved = false;
  while (stream.sent_bytes < stream.total_bytes) {
    if (limits.part_bytes_max == 0) {
      if (!push_fragment(stream)) return moved;
      moved = true;
      continue;
    }
    Status status;
    std::byte* line = transport_.claim(to, sizeof(CellPart), status);
    if (line == nullptr) return moved;
    CellPart part;
    if (!fill_part(stream, part)) {
      // If other messages hold all cells, a matched message can still use its ring.
      if (stream.in_flight > 0 || !stream.cleared || !push_fragment(stream)) return moved;
      moved = true;
      continue;
    }
    copy_bytes(shm::payload_at(line), &part, sizeof part);
    transport_.commit(to, static_cast<uint8_t>(PacketKind::cells), 0, sizeof part,
                      RequestTable::cookie_of(request), 0);
    chaos::at(chaos::Point::cell_announced);
    moved = true;
  }
  end_stream(stream);
  return true;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the next piece of a long message");
}

void Engine::grow_cell_receivers(size_t cells) try {
  cell_receivers_.resize(cells, -1);
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the table of cells");
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
  transport_.commit(to, static_cast<uint8_t>(PacketKind::fragment), 0, bytes,
                    RequestTable::cookie_of(request), 0);
  stream.sent_bytes += static_cast<int64_t>(bytes);
  return true;
}

// Passes the whole buffer to the transport. The transfer is complete when the transport delivers buffer_left.
bool Engine::push_buffer(SendStream& stream) {
  Request& request = *stream.request;
  const auto over = static_cast<uint8_t>(PacketKind::buffer_left);
  if (!transport_.send_buffer(
          request.key.peer, RequestTable::cookie_of(request), first_byte(request),
          static_cast<size_t>(stream.total_bytes),
          {shm::PacketHeader::make_commit(over, 0, 0, RequestTable::cookie_of(request)), 0})) {
    return false;
  }
  stream.buffer_awaited = false;
  stream.held = true;
  unlist(sending_, stream);
  return true;
}

// All bytes have left the user's buffer. Cells that the receiver still reads return to the pool by their
// release marks.
void Engine::end_stream(SendStream& stream) {
  Request& request = *stream.request;
  unlist(sending_, stream);
  if (stream.offered != 0) peers_[static_cast<size_t>(request.key.peer)].skew.zero_copy_ended();
  request.send_stream = nullptr;
  send_streams_.destroy(&stream);
  if (!request.await_match) requests_.complete_send(request, {});
}

// False: the packet is invalid.
bool Engine::on_clear_to_send(Request& request, uint8_t flags) {
  const bool buffer_awaited = (flags & kBufferAwaited) != 0;
  if (buffer_awaited && !transport_.carries_buffers(request.key.peer)) return false;
  if (flags & kNoSingleCopy) peers_[static_cast<size_t>(request.key.peer)].single_copy_declined = true;
  if (flags & kNoArena) peers_[static_cast<size_t>(request.key.peer)].arena_declined = true;
  if (request.send_stream == nullptr) return true;
  SendStream& stream = *request.send_stream;
  stream.buffer_awaited = buffer_awaited;
  if (recorder_ != nullptr && stream.offered != 0) {
    recorder_->fell_back(request.key.peer, static_cast<int>(way_of(stream)),
                         static_cast<uint64_t>(stream.total_bytes));
  }
  let_go(stream);
  return true;
}

// Resumes a held message: the receiver has matched it and selected the protocol.
void Engine::let_go(SendStream& stream) {
  stream.held = false;
  stream.cleared = true;
  if (stream.place < 0) list(sending_, stream);
  push(stream);
}

// Receiver.

void Engine::on_rendezvous(PeerIndex from, const shm::PacketHeader& header, const std::byte* payload) {
  RendezvousStart start = {};
  copy_bytes(&start, payload, rendezvous_bytes(0));
  if (header.bytes() == sizeof start) copy_bytes(&start, payload, sizeof start);
  if (start.bytes > static_cast<uint64_t>(INT64_MAX)) {
    shm::report_corruption("rank %d announces a message of %llu bytes to rank %d", from,
                           static_cast<unsigned long long>(start.bytes), self_);
  }
  if (start.part.bytes != 0) note_home(from, start.part);
  ReceiveStream* stream = receive_streams_.create();
  if (stream == nullptr) errors_.out_of_memory("a long message", sizeof(ReceiveStream), from);
  stream->from = from;
  stream->cookie = header.cookie();
  stream->flags = header.flags();
  stream->address = start.address;
  stream->total_bytes = static_cast<int64_t>(start.bytes);
  stream->keeps_buffers = keep_buffers_ && stream->total_bytes <= recycled_bytes_max_;
  if (start.part.bytes != 0) {
    keep_part(*stream, start.part);
    announce(*stream, start.part.bytes);
  }
  // Further fragments follow without a request only if a first one has arrived. A held message is listed when
  // it is matched.
  if (stream->announced_bytes > 0 && stream->announced_bytes < stream->total_bytes) {
    list(peers_[static_cast<size_t>(from)].streams, *stream);
  }

  const MatchKey key = {context_of(header.match), from, tag_of(header.match)};
  if (recorder_ != nullptr && traced()) recorder_->arrived(from, start.bytes, key.tag);
  if (MatchEntry* entry = matching_.posted().take(key); entry != nullptr) {
    if (header.flags() & kSynchronous) answer(from, PacketKind::matched, 0, header.cookie());
    attach(*stream, static_cast<Request&>(*entry), key.tag);
    return;
  }
  const UnexpectedMessage* message = matching_.add(key, header, stream->total_bytes, *stream);
  if (message == nullptr) errors_.out_of_memory("an unexpected message", sizeof(UnexpectedMessage), from);
  transport_.add_unexpected_bytes(from, message->memory_bytes());
  if (recorder_ != nullptr) recorder_->unexpected(matching_.unexpected().size(), 0);
}

void Engine::attach(ReceiveStream& stream, Request& request, int tag) {
  stream.request = &request;
  request.received_tag = tag;
  const bool nothing_sent = stream.announced_bytes == 0;
  if (prefault_ && datatype::is_one_run(*request.type, request.count)) {
    stream.prefault =
        Prefault(static_cast<std::byte*>(request.buffer) + request.type->true_lower_bound,
                 static_cast<size_t>(std::min(stream.total_bytes, request.count * request.type->size)));
  }
  for (const CellPart& part : stream.parts) take_part(stream, part);
  stream.parts.clear();
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

// Asks the transport to transfer the message into the receive buffer, if the buffer is contiguous and holds
// the whole message. False: not possible.
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

// Records that the whole message has been copied by a single copy.
void Engine::has_come(ReceiveStream& stream) {
  stream.announced_bytes = stream.copied_bytes = stream.total_bytes;
  ++counters_.single_copies;
  counters_.single_copy_bytes += static_cast<uint64_t>(stream.total_bytes);
}

ReceiveStream* Engine::stream_of(PeerIndex from, uint32_t cookie) {
  // The sender may reuse a cookie after it has announced everything, so only streams with outstanding
  // fragments match.
  for (ReceiveStream* stream : peers_[static_cast<size_t>(from)].streams) {
    if (stream->cookie == cookie && stream->announced_bytes < stream->total_bytes) return stream;
  }
  return nullptr;
}

void Engine::on_part(PeerIndex from, uint32_t cookie, const CellPart& part) {
  note_home(from, part);
  ReceiveStream* stream = stream_of(from, cookie);
  // The receive has been dropped (failure.cpp): release the buffer.
  if (stream == nullptr) return return_part(from, part);
  announce(*stream, part.bytes);
  if (stream->request == nullptr) return keep_part(*stream, part);
  take_part(*stream, part);
  finish_if_whole(*stream);
}

// A recycled buffer arrived: treat the earlier fragment that this process sent in it as acknowledged. Its
// release mark is still not set, because the buffer may be kept here now. If the buffer belongs to this
// process's pool, the peer no longer holds it.
void Engine::note_home(PeerIndex from, const CellPart& part) {
  for (SendStream* stream : sending_) {
    if (stream->request->key.peer == from) stream->note_answer(owner_of(part, self_, from), number_of(part));
  }
  if (!(part.cell & kCellOfReceiver)) return;
  const size_t cell = part.cell & ~kCellOfReceiver;
  if (cell >= cell_receivers_.size() || cell_receivers_[cell] != from) refuse_part(from, part);
  cell_receivers_[cell] = MPI_PROC_NULL;
}

void Engine::on_fragment(PeerIndex from, uint32_t cookie, const std::byte* payload, size_t bytes) {
  ReceiveStream* stream = stream_of(from, cookie);
  if (stream == nullptr || stream->request == nullptr) return;
  announce(*stream, static_cast<int64_t>(bytes));
  take_bytes(*stream, payload, static_cast<int64_t>(bytes));
  finish_if_whole(*stream);
}

void Engine::return_part(PeerIndex from, const CellPart& part) {
  if (transport_.cells_of(owner_of(part, self_, from), number_of(part), part.bytes) != nullptr)
    deferred_.release(from, part);
}

void Engine::announce(ReceiveStream& stream, int64_t bytes) const {
  stream.announced_bytes += bytes;
  if (__builtin_expect(stream.announced_bytes <= stream.total_bytes, 1)) return;
  shm::report_corruption("rank %d announces %lld bytes of a message of %lld bytes to rank %d", stream.from,
                         static_cast<long long>(stream.announced_bytes),
                         static_cast<long long>(stream.total_bytes), self_);
}

void Engine::refuse_part(PeerIndex from, const CellPart& part) const {
  shm::report_corruption(
      "rank %d tells rank %d of %u bytes in cell %d of rank %d's pool, which are not there", from, self_,
      part.bytes, number_of(part), owner_of(part, self_, from));
}

// Stores a fragment that arrived before the match. A sender has at most kCellsInFlightMax fragments in
// flight.
void Engine::keep_part(ReceiveStream& stream, const CellPart& part) const {
  if (stream.parts.size() == kCellsInFlightMax) refuse_part(stream.from, part);
  stream.parts.push_back(part);
}

void Engine::take_part(ReceiveStream& stream, const CellPart& part) {
  const PeerIndex owner = owner_of(part, self_, stream.from);
  const std::byte* data = transport_.cells_of(owner, number_of(part), part.bytes);
  if (data == nullptr) refuse_part(stream.from, part);
  take_bytes(stream, data, part.bytes);
  chaos::at(chaos::Point::cell_emptied);
  if (!stream.keeps_buffers || !peers_[static_cast<size_t>(stream.from)].recycled.keep(part)) {
    deferred_.release(stream.from, part);
  }
}

void Engine::take_bytes(ReceiveStream& stream, const std::byte* data, int64_t bytes) {
  Request& request = *stream.request;
  const int64_t room = request.count * request.type->size;
  const int64_t fitting = std::clamp<int64_t>(room - stream.copied_bytes, 0, bytes);
  if (fitting > 0) {
    const profile::CopyTimer timer(recorder_, stream.from, static_cast<uint64_t>(fitting));
    stream.prefault.prepare(static_cast<size_t>(stream.copied_bytes + fitting));
    const auto length = static_cast<size_t>(fitting);
    if (LoadPolicy::has_choice(stream.total_bytes, length) &&
        datatype::is_one_run(*request.type, request.count)) {
      pairs_.at(stream.from).load_policy.read(first_byte(request) + stream.copied_bytes, data, length);
    } else {
      datatype::unpack(*request.type, request.buffer, stream.copied_bytes, data, length);
    }
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
  requests_.complete_receive(request, from, request.received_tag, bytes);
}

}  // namespace hearth::p2p
