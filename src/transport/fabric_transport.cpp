#include "transport/fabric_transport.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/param.h"
#include "mpi.h"

namespace hearth::transport {
// Life.

Status open_fabric(const NetworkSetup& setup, std::unique_ptr<Network>& network) {
  std::unique_ptr<FabricTransport> transport;
  HEARTH_TRY(FabricTransport::open(setup, transport));
  network = std::move(transport);
  return {};
}

Status FabricTransport::open(const NetworkSetup& setup, std::unique_ptr<FabricTransport>& transport) {
  transport.reset(new (std::nothrow) FabricTransport(setup));
  if (transport == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for the network transport");
  return transport->open();
}

FabricTransport::~FabricTransport() {
  endpoint_.close();
  for (size_t slot = 0; slot < posted_.slots_used(); ++slot) {
    if (PostedBuffer* posted = posted_.at(slot); posted != nullptr) posted_.destroy(posted);
  }
}

Status FabricTransport::open() {
  HEARTH_TRY(endpoint_.open(peers_.size()));
  choose_lengths();
  buffers_.set_length(sizeof(Wire) + packet_bytes_max_);
  liveness_.open(endpoint_.address());
  const uint16_t port = liveness_.port();
  address_.resize(sizeof port);
  std::memcpy(address_.data(), &port, sizeof port);
  address_.insert(address_.end(), endpoint_.address().begin(), endpoint_.address().end());
  for (int i = 0; i < kPosted; ++i) {
    Buffer* buffer = buffers_.take();
    if (buffer == nullptr) {
      return fail(MPI_ERR_NO_MEM, "no memory for the network's receive buffers (%s)", way().c_str());
    }
    if (!post_receive(buffer)) unposted_.push_back(buffer);
  }
  return {};
}

// A provider in layers (ofi_rxm) has buffers of one length, its inject size. It would transfer a longer
// packet by a rendezvous of its own, which takes three times as long.
void FabricTransport::choose_lengths() {
  inject_bytes_max_ = endpoint_.info().tx_attr->inject_size;
  const std::string_view provider = endpoint_.info().fabric_attr->prov_name;
  if (provider == "net" || provider == "tcp") packet_bytes_max_ = kNetworkPacketBytesMax;
  if (!provider.ends_with(";ofi_rxm") || inject_bytes_max_ <= 2 * sizeof(Wire)) return;
  packet_bytes_max_ = std::min(packet_bytes_max_, inject_bytes_max_ - sizeof(Wire));
}

// The port of the connection monitor precedes libfabric's address.
void FabricTransport::introduce(PeerIndex index, std::span<const std::byte> address) {
  peer(index).address.assign(address.begin(), address.end());
}

Status FabricTransport::connect(PeerIndex to) {
  Peer& other = peer(to);
  const bool known = other.address.size() > sizeof(uint16_t);
  if (known) other.number = endpoint_.insert(std::span(other.address).subspan(sizeof(uint16_t)));
  if (other.number == FI_ADDR_UNSPEC) {
    return fail(MPI_ERR_OTHER,
                "%s does not take the address of rank %d (%zu bytes). Likely cause: another provider or "
                "interface there. Remedy: HEARTH_FABRIC_PROVIDER and HEARTH_FABRIC_INTERFACE alike on all "
                "machines",
                way().c_str(), to, other.address.size());
  }
  watch(to);
  return {};
}

void FabricTransport::watch(PeerIndex index) {
  Peer& other = peer(index);
  if (other.watched || index == setup_.self || other.address.size() <= sizeof(uint16_t)) return;
  other.watched = true;
  uint16_t port = 0;
  std::memcpy(&port, other.address.data(), sizeof port);
  liveness_.watch(index, std::span(other.address).subspan(sizeof port), port);
}

// Sending.

std::byte* FabricTransport::claim(PeerIndex to, size_t payload_bytes, Status& status) {
  HEARTH_DCHECK(payload_bytes <= packet_bytes_max_);
  static_cast<void>(payload_bytes);
  Peer& other = peer(to);
  if (other.number == FI_ADDR_UNSPEC && !other.lost) {
    status = connect(to);
    if (!status.ok()) return nullptr;
  }
  if (other.sent - other.taken_there >= kWindow && !other.lost) return nullptr;
  // A claimed buffer without a commit serves the next claim, to any process.
  if (claimed_ == nullptr) claimed_ = buffers_.take();
  if (claimed_ != nullptr) return claimed_->data + sizeof(Wire);
  status = fail(MPI_ERR_NO_MEM, "no memory for a packet to rank %d over %s", to, way().c_str());
  return nullptr;
}

void FabricTransport::commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                             uint64_t match) {
  Buffer* buffer = claimed_;
  claimed_ = nullptr;
  Wire& wire = *reinterpret_cast<Wire*>(buffer->data);
  wire.header = {PacketHeader::make_commit(kind, flags, static_cast<uint32_t>(payload_bytes), cookie), match};
  wire.number = peer(to).sent++;
  buffer->bytes = static_cast<uint32_t>(sizeof(Wire) + payload_bytes);
  send_or_queue(to, buffer);
}

void FabricTransport::send_or_queue(PeerIndex to, Buffer* buffer) {
  Peer& other = peer(to);
  other.talks = true;
  // During a poll more answers may follow, so short packets are queued and combined; long ones are sent at
  // once.
  const bool waits = polling_ ? buffer->bytes <= kTogetherBytesMax : other.queue != nullptr;
  if (!waits && send_queue(to) && post(to, buffer)) return;
  if (other.queue != nullptr && join(*other.queue_last, *buffer)) return buffers_.give(buffer);
  buffer->next = nullptr;
  (other.queue != nullptr ? other.queue_last->next : other.queue) = buffer;
  other.queue_last = buffer;
  list_waiting(to);
}

// Appends a packet to the last one in the queue; false if it does not fit.
bool FabricTransport::join(Buffer& last, const Buffer& next) const {
  const bool either_leaves = reinterpret_cast<const Wire*>(last.data)->header.kind() == kLeavesKind ||
                             reinterpret_cast<const Wire*>(next.data)->header.kind() == kLeavesKind;
  const size_t place = place_behind(last.bytes);
  const size_t bytes = next.bytes - offsetof(Wire, header);
  if (either_leaves || next.bytes > kTogetherBytesMax || place + bytes > sizeof(Wire) + packet_bytes_max_) {
    return false;
  }
  std::memset(last.data + last.bytes, 0, place - last.bytes);
  std::memcpy(last.data + place, next.data + offsetof(Wire, header), bytes);
  last.bytes = static_cast<uint32_t>(place + bytes);
  return true;
}

// False if libfabric cannot accept it yet.
bool FabricTransport::post(PeerIndex to, Buffer* buffer) {
  Peer& other = peer(to);
  if (other.lost) {
    buffers_.give(buffer);
    return true;
  }
  Wire& wire = *reinterpret_cast<Wire*>(buffer->data);
  wire.key = setup_.key;
  wire.from = static_cast<uint32_t>(setup_.self);
  wire.taken = other.taken;
  wire.unmatched_kib = static_cast<uint32_t>(other.unexpected_bytes >> 10);
  ssize_t error;
  // libfabric copies an injected packet and reports no completion. The shutdown packet needs one, because the
  // process ends after it.
  if (buffer->bytes <= inject_bytes_max_ && wire.header.kind() != kLeavesKind) {
    error = fi_inject(endpoint_.endpoint(), buffer->data, buffer->bytes, other.number);
    if (error == 0) buffers_.give(buffer);
  } else {
    buffer->kind = Operation::Kind::send;
    buffer->peer = to;
    error = fi_send(endpoint_.endpoint(), buffer->data, buffer->bytes, buffer->registration, other.number,
                    &buffer->own);
    if (error == 0) count_out(to);
  }
  if (error == -FI_EAGAIN) return false;
  if (error == 0) {
    other.taken_acknowledged = wire.taken;
    other.acknowledgement_due = false;
    return true;
  }
  const bool matters = !withdraws(*buffer);
  buffers_.give(buffer);
  if (matters) lose(to, endpoint_.error_text(static_cast<int>(-error)));
  return true;
}

void FabricTransport::list_waiting(PeerIndex to) {
  Peer& other = peer(to);
  if (other.waiting) return;
  other.waiting = true;
  waiting_.push_back(to);
}

// Returns whether the queue is empty.
bool FabricTransport::send_queue(PeerIndex to) {
  Peer& other = peer(to);
  while (other.queue != nullptr) {
    Buffer* const first = other.queue;
    other.queue = first->next;
    if (post(to, first)) continue;
    other.queue = first;
    return false;
  }
  return true;
}

void FabricTransport::serve_waiting() {
  for (size_t i = 0; i < waiting_.size();) {
    const PeerIndex to = waiting_[i];
    Peer& other = peer(to);
    if (send_queue(to) &&
        (!other.acknowledgement_due || other.lost || send_control(to, kAcknowledgementKind))) {
      other.waiting = other.acknowledgement_due = false;
      waiting_[i] = waiting_.back();
      waiting_.pop_back();
    } else {
      ++i;
    }
  }
}

// Sends a packet of the transport itself; false if it cannot be sent now. Pre: the queue is empty.
bool FabricTransport::send_control(PeerIndex to, uint8_t kind) {
  if (peer(to).number == FI_ADDR_UNSPEC && !connect(to).ok()) return false;
  Buffer* buffer = buffers_.take();
  if (buffer == nullptr) return false;
  Wire& wire = *reinterpret_cast<Wire*>(buffer->data);
  wire.header = {PacketHeader::make_commit(kind, 0, 0, 0), 0};
  wire.number = peer(to).sent;
  buffer->bytes = sizeof(Wire);
  if (post(to, buffer)) return true;
  buffers_.give(buffer);
  return false;
}

void FabricTransport::add_unexpected_bytes(PeerIndex from, int64_t bytes) {
  Peer& other = peer(from);
  const int64_t before = other.unexpected_bytes;
  other.unexpected_bytes += bytes;
  // A flow-blocked sender waits for this to fall: acknowledge when it falls below a multiple of 1 MiB.
  if (bytes < 0 && before >> 20 != other.unexpected_bytes >> 20) {
    other.acknowledgement_due = true;
    list_waiting(from);
  }
}

}  // namespace hearth::transport
