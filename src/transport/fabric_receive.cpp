// The fabric transport: received packets, whole buffers, unreachable processes, and shutdown.
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/os_wait.h"
#include "base/param.h"
#include "transport/fabric_transport.h"

namespace hearth::transport {
namespace {

uint64_t tag_of(PeerIndex sender, uint32_t number) {
  return uint64_t{static_cast<uint32_t>(sender)} << 32 | number;
}

}  // namespace

// Whole buffers.

FabricTransport::PostedBuffer* FabricTransport::post_buffer(Operation::Kind kind, PeerIndex index,
                                                            const std::byte* buffer, size_t bytes,
                                                            const PacketHeader& over) {
  PostedBuffer* posted = posted_.create();
  if (posted == nullptr) return nullptr;
  posted->kind = kind;
  posted->peer = index;
  posted->bytes = bytes;
  posted->over = over;
  if (endpoint_.register_memory(buffer, bytes, posted->registration)) return posted;
  posted_.destroy(posted);
  return nullptr;
}

bool FabricTransport::await(PeerIndex from, uint32_t number, std::byte* buffer, size_t bytes,
                            const PacketHeader& over) {
  if (bytes > endpoint_.info().ep_attr->max_msg_size) return false;
  PostedBuffer* posted = post_buffer(Operation::Kind::buffer_comes, from, buffer, bytes, over);
  if (posted == nullptr) return false;
  void* registration = posted->registration != nullptr ? fi_mr_desc(posted->registration.get()) : nullptr;
  if (fi_trecv(endpoint_.endpoint(), buffer, bytes, registration, FI_ADDR_UNSPEC, tag_of(from, number), 0,
               &posted->own) == 0) {
    return true;
  }
  posted_.destroy(posted);
  return false;
}

bool FabricTransport::send(PeerIndex to, uint32_t number, const std::byte* buffer, size_t bytes,
                           const PacketHeader& over) {
  if (peer(to).lost) return false;
  PostedBuffer* posted = post_buffer(Operation::Kind::buffer_leaves, to, buffer, bytes, over);
  if (posted == nullptr) return false;
  void* registration = posted->registration != nullptr ? fi_mr_desc(posted->registration.get()) : nullptr;
  const ssize_t error = fi_tsend(endpoint_.endpoint(), buffer, bytes, registration, peer(to).number,
                                 tag_of(setup_.self, number), &posted->own);
  if (error == 0) {
    count_out(to);
    return true;
  }
  posted_.destroy(posted);
  if (error != -FI_EAGAIN) lose(to, endpoint_.error_text(static_cast<int>(-error)));
  return false;
}

// Receiving.

bool FabricTransport::post_receive(Buffer* buffer) {
  buffer->kind = Operation::Kind::receive;
  return fi_recv(endpoint_.endpoint(), buffer->data, buffers_.bytes_each(), buffer->registration,
                 FI_ADDR_UNSPEC, &buffer->own) == 0;
}

int FabricTransport::poll(PacketHandler handler, void* receiver) {
  fi_cq_msg_entry over[kBatch];
  int packets = 0;
  const ssize_t count = fi_cq_read(endpoint_.events(), over, kBatch);
  polling_ = true;
  for (ssize_t i = 0; i < count; ++i) {
    packets += end(*static_cast<Operation*>(over[i].op_context), over[i].len, handler, receiver);
  }
  if (count == -FI_EAVAIL) end_with_error();
  polling_ = false;
  if (__builtin_expect(!unposted_.empty(), 0) && post_receive(unposted_.back())) unposted_.pop_back();
  if (!waiting_.empty()) serve_waiting();
  if (__builtin_expect(liveness_.count_poll(packets), 0)) check_liveness();
  return packets;
}

// Handles the completion of a libfabric operation. Returns how many packets the engine got.
int FabricTransport::end(Operation& operation, size_t bytes, PacketHandler handler, void* receiver) {
  switch (operation.kind) {
    case Operation::Kind::receive: {
      auto* buffer = static_cast<Buffer*>(&operation);
      return take(buffer, bytes, handler, receiver);
    }
    case Operation::Kind::send:
      count_left(operation.peer);
      buffers_.give(static_cast<Buffer*>(&operation));
      return 0;
    case Operation::Kind::buffer_leaves:
      count_left(operation.peer);
      break;
    case Operation::Kind::buffer_comes:
      break;
  }
  auto* posted = static_cast<PostedBuffer*>(&operation);
  const PacketHeader header = posted->over;
  const PeerIndex from = posted->peer;
  const bool whole = operation.kind == Operation::Kind::buffer_leaves || bytes == posted->bytes;
  posted_.destroy(posted);
  if (!whole) {
    lose(from, "it has sent a buffer of another length than it had announced");
    return 0;
  }
  handler(receiver, from, header, nullptr);
  return 1;
}

// Whether the packets fill the message exactly, and a packet of the transport itself is alone in it.
bool FabricTransport::is_sound(const Buffer& buffer) {
  for (size_t at = offsetof(Wire, header); at + sizeof(PacketHeader) <= buffer.bytes;) {
    const auto& header = *reinterpret_cast<const PacketHeader*>(buffer.data + at);
    const size_t end = at + sizeof(PacketHeader) + header.bytes();
    const bool own = header.kind() == kAcknowledgementKind || header.kind() == kLeavesKind;
    if (own && (at != offsetof(Wire, header) || end != buffer.bytes)) return false;
    if (end == buffer.bytes) return true;
    at = place_behind(end);
  }
  return false;
}

// Handles a received message, then early ones that are in order now. Nothing in a message is used before its
// key is verified. Returns how many packets the engine got.
int FabricTransport::take(Buffer* buffer, size_t bytes, PacketHandler handler, void* receiver) {
  const Wire& wire = *reinterpret_cast<const Wire*>(buffer->data);
  buffer->bytes = static_cast<uint32_t>(bytes);
  if (bytes < sizeof(Wire) || wire.key != setup_.key) {
    refuse("does not know this job's secret");
    repost(buffer);
    return 0;
  }
  if (wire.from >= peers_.size() || !is_sound(*buffer)) {
    refuse("makes no sense");
    repost(buffer);
    return 0;
  }
  Peer& from = peers_[wire.from];
  from.talks = true;
  // Ignores the acknowledgement of a late or queued packet, which is older than the last one, and an
  // acknowledgement of more packets than were sent, which is invalid.
  if (const uint32_t more = wire.taken - from.taken_there; more <= from.sent - from.taken_there) {
    from.taken_there = wire.taken;
    from.unexpected_kib_there = wire.unmatched_kib;
  }
  if (wire.header.kind() == kAcknowledgementKind || wire.header.kind() == kLeavesKind) {
    if (wire.header.kind() == kLeavesKind) note_announcement(from, wire);
    repost(buffer);
    return 0;
  }
  if (const uint32_t ahead = wire.number - from.taken; ahead != 0) {
    const bool is_new = std::none_of(from.early.begin(), from.early.end(), [&wire](const Buffer* other) {
      return reinterpret_cast<const Wire*>(other->data)->number == wire.number;
    });
    if (ahead < kWindow && is_new) {
      from.early.push_back(buffer);
      if (Buffer* another = buffers_.take(); another != nullptr) {
        repost(another);
      } else {
        ++unreplaced_;
      }
    } else {
      refuse("makes no sense");
      repost(buffer);
    }
    return 0;
  }
  int packets = hand_over(*buffer, handler, receiver);
  repost(buffer);
  for (size_t i = 0; i < from.early.size();) {
    Buffer* const other = from.early[i];
    if (reinterpret_cast<const Wire*>(other->data)->number != from.taken) {
      ++i;
      continue;
    }
    from.early[i] = from.early.back();
    from.early.pop_back();
    packets += hand_over(*other, handler, receiver);
    if (unreplaced_ > 0) {
      --unreplaced_;
      repost(other);
    } else {
      buffers_.give(other);
    }
    i = 0;
  }
  return packets;
}

// Ignores a late announcement, which a later one or packets have followed.
void FabricTransport::note_announcement(Peer& from, const Wire& wire) {
  if (static_cast<int32_t>(wire.header.cookie() - from.announcement) <= 0) return;
  from.announcement = wire.header.cookie();
  from.leaves = (wire.header.flags() & kStays) == 0 && wire.number - from.taken <= kWindow;
  from.leaves_after = wire.number;
}

int FabricTransport::hand_over(const Buffer& buffer, PacketHandler handler, void* receiver) {
  const auto index = static_cast<PeerIndex>(reinterpret_cast<const Wire*>(buffer.data)->from);
  Peer& from = peer(index);
  int packets = 0;
  for (size_t at = offsetof(Wire, header); at < buffer.bytes; ++packets) {
    const auto& header = *reinterpret_cast<const PacketHeader*>(buffer.data + at);
    const size_t payload = at + sizeof(PacketHeader);
    at = place_behind(payload + header.bytes());
    ++from.taken;
    handler(receiver, index, header, buffer.data + payload);
  }
  // A packet after the announced end: the process has not left.
  if (from.leaves_after - from.taken > kWindow) from.leaves = false;
  if (from.taken - from.taken_acknowledged >= kWindow / 2 && !from.acknowledgement_due) {
    from.acknowledgement_due = true;
    list_waiting(index);
  }
  return packets;
}

void FabricTransport::repost(Buffer* buffer) {
  if (!post_receive(buffer)) unposted_.push_back(buffer);
}

void FabricTransport::end_with_error() {
  fi_cq_err_entry error = {};
  if (fi_cq_readerr(endpoint_.events(), &error, 0) != 1) return;
  auto& operation = *static_cast<Operation*>(error.op_context);
  const char* why = endpoint_.error_text(error.err);
  switch (operation.kind) {
    case Operation::Kind::receive: {
      auto* buffer = static_cast<Buffer*>(&operation);
      if (error.err == FI_ETRUNC) refuse("is longer than any packet");
      if (error.err != FI_ECANCELED) unposted_.push_back(buffer);
      break;
    }
    case Operation::Kind::send:
      count_left(operation.peer);
      if (!withdraws(*static_cast<Buffer*>(&operation))) lose(operation.peer, why);
      buffers_.give(static_cast<Buffer*>(&operation));
      break;
    case Operation::Kind::buffer_leaves:
      count_left(operation.peer);
      [[fallthrough]];
    case Operation::Kind::buffer_comes:
      lose(operation.peer, why);
      posted_.destroy(static_cast<PostedBuffer*>(&operation));
      break;
  }
}

void FabricTransport::check_liveness() {
  liveness_.read_events();
  if (liveness_.refused()) refuse("does not know this job's secret");
  const auto has_left = [this](PeerIndex index) { return peer(index).has_left(); };
  for (FabricLiveness::Lost lost; liveness_.next_lost(lost, has_left);) {
    if (lost.with_machine) {
      lose_machine_of(lost.peer, lost.why);
    } else {
      lose(lost.peer, lost.why);
    }
  }
  for (const PeerIndex index : liveness_.machines_to_watch()) watch(index);
}

// The machine does not answer, so all its processes are lost, including those that are not monitored.
void FabricTransport::lose_machine_of(PeerIndex index, const char* why) {
  lose(index, why);
  if (setup_.node_of.empty()) return;
  const int node = setup_.node_of[static_cast<size_t>(index)];
  for (size_t i = 0; i < setup_.node_of.size(); ++i) {
    if (setup_.node_of[i] == node) lose(static_cast<PeerIndex>(i), why);
  }
}

// Counting of pending sends. Those to a lost process may never complete, and are not waited for.
void FabricTransport::count_out(PeerIndex index) {
  ++under_way_;
  ++peer(index).under_way;
}

void FabricTransport::count_left(PeerIndex index) {
  Peer& other = peer(index);
  if (other.lost) return;
  --under_way_;
  --other.under_way;
}

// Warns once; the job continues.
void FabricTransport::refuse(const char* what) {
  if (refusal_reported_) return;
  refusal_reported_ = true;
  std::fprintf(stderr, "hearth: rank %d refused what came from the network and %s\n", setup_.self, what);
}

void FabricTransport::lose(PeerIndex index, const char* why) {
  Peer& other = peer(index);
  if (other.lost) return;
  other.lost = true;
  under_way_ -= other.under_way;
  other.under_way = 0;
  // Cancels receives into user buffers, so that nothing is written there if the process becomes reachable
  // again.
  for (size_t slot = 0; slot < posted_.slots_used(); ++slot) {
    PostedBuffer* posted = posted_.at(slot);
    if (posted == nullptr || posted->peer != index || posted->kind != Operation::Kind::buffer_comes) continue;
    fi_cancel(&endpoint_.endpoint()->fid, &posted->own);
  }
  while (other.queue != nullptr) {
    Buffer* first = other.queue;
    other.queue = first->next;
    buffers_.give(first);
  }
  // A process that has announced its shutdown may end.
  if (other.has_left()) return;
  if (leaving_since_ns_ != 0) {
    other.lost_while_left = why;
  } else if (setup_.lost != nullptr) {
    setup_.lost(setup_.context, index, why);
  }
}

// Shutdown.

void FabricTransport::leave() {
  leaving_since_ns_ = os::now_ns();
  for (Peer& other : peers_) other.announced = false;
  announce();
}

// Announces the number of packets after which this process leaves, again if packets have followed.
void FabricTransport::announce() {
  for (size_t i = 0; i < peers_.size(); ++i) {
    Peer& other = peers_[i];
    if (!other.talks || other.lost || (other.announced && other.announced_after == other.sent)) continue;
    // A peer that has only sent packets is not connected yet.
    if (other.number == FI_ADDR_UNSPEC && !connect(static_cast<PeerIndex>(i)).ok()) continue;
    if (!send_announcement(static_cast<PeerIndex>(i), 0)) continue;
    other.announced_after = other.sent;
    other.announced = true;
  }
}

// False: no memory.
bool FabricTransport::send_announcement(PeerIndex to, uint8_t flags) {
  Buffer* buffer = buffers_.take();
  if (buffer == nullptr) return false;
  Peer& other = peer(to);
  Wire& wire = *reinterpret_cast<Wire*>(buffer->data);
  wire.header = {PacketHeader::make_commit(kLeavesKind, flags, 0, ++other.announcements), 0};
  wire.number = other.sent;
  buffer->bytes = sizeof(Wire);
  send_or_queue(to, buffer);
  return true;
}

bool FabricTransport::has_left() {
  announce();
  const bool late = os::now_ns() - leaving_since_ns_ > param::get_time_ns(param::Id::fabric_alive);
  if (!late && (!quiet() || std::any_of(peers_.begin(), peers_.end(), [](const Peer& other) {
        return other.talks && !other.has_left() && !other.lost;
      }))) {
    return false;
  }
  // Resets the state for a later session.
  for (Peer& other : peers_) other.talks = other.leaves = false;
  return true;
}

void FabricTransport::rejoin() {
  leaving_since_ns_ = 0;
  for (size_t i = 0; i < peers_.size(); ++i) {
    Peer& other = peers_[i];
    if (!std::exchange(other.announced, false) || !other.talks || other.lost) continue;
    // Without memory, the next packet withdraws the announcement.
    static_cast<void>(send_announcement(static_cast<PeerIndex>(i), kStays));
  }
  for (size_t i = 0; i < peers_.size(); ++i) {
    const char* const why = std::exchange(peers_[i].lost_while_left, nullptr);
    if (why != nullptr && setup_.lost != nullptr) setup_.lost(setup_.context, static_cast<PeerIndex>(i), why);
  }
}

}  // namespace hearth::transport
