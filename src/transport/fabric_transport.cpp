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
  HEARTH_TRY(fabric_library(transport->library_));
  HEARTH_TRY(choose_fabric(*transport->library_, transport->info_));
  transport->way_ = name_of(*transport->info_);
  return transport->open_endpoint();
}

FabricTransport::~FabricTransport() {
  // Closes the endpoint first, so that no transfer is active when its buffers are released.
  endpoint_.reset();
  for (size_t slot = 0; slot < posted_.slots_used(); ++slot) {
    if (PostedBuffer* posted = posted_.at(slot); posted != nullptr) posted_.destroy(posted);
  }
}

Status FabricTransport::open_endpoint() {
  const Status opened = open_objects();
  if (!opened.ok()) return opened;
  for (int i = 0; i < kPosted; ++i) {
    Buffer* buffer = take_buffer();
    if (buffer == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for the network's receive buffers");
    if (!post_receive(buffer)) unposted_.push_back(buffer);
  }
  return {};
}

Status FabricTransport::open_objects() {
  const char* doing = "";
  int error = 0;
  const auto make = [&](const char* what, auto& owner, auto open) {
    if (error != 0) return;
    doing = what;
    typename std::remove_reference_t<decltype(owner)>::pointer object = nullptr;
    error = open(&object);
    if (error == 0) owner.reset(object);
  };
  const auto step = [&](const char* what, auto function) {
    if (error != 0) return;
    doing = what;
    error = function();
  };
  make("fi_fabric", fabric_,
       [this](fid_fabric** object) { return library_->fabric(info_->fabric_attr, object, nullptr); });
  make("fi_domain", domain_,
       [this](fid_domain** object) { return fi_domain(fabric_.get(), info_.get(), object, nullptr); });
  fi_av_attr addresses = {};
  addresses.type = info_->domain_attr->av_type;
  addresses.count = peers_.size();
  make("fi_av_open", addresses_,
       [&](fid_av** object) { return fi_av_open(domain_.get(), &addresses, object, nullptr); });
  fi_cq_attr events = {};
  events.format = FI_CQ_FORMAT_MSG;
  make("fi_cq_open", events_,
       [&](fid_cq** object) { return fi_cq_open(domain_.get(), &events, object, nullptr); });
  make("fi_endpoint", endpoint_,
       [this](fid_ep** object) { return fi_endpoint(domain_.get(), info_.get(), object, nullptr); });
  step("fi_ep_bind", [this] { return fi_ep_bind(endpoint_.get(), &addresses_->fid, 0); });
  step("fi_ep_bind", [this] { return fi_ep_bind(endpoint_.get(), &events_->fid, FI_TRANSMIT | FI_RECV); });
  step("fi_enable", [this] { return fi_enable(endpoint_.get()); });
  size_t bytes = 0;
  step("fi_getname", [&] {
    const int asked = fi_getname(&endpoint_->fid, nullptr, &bytes);
    if (asked != -FI_ETOOSMALL && asked != 0) return asked;
    address_.resize(sizeof(uint16_t) + bytes);
    return fi_getname(&endpoint_->fid, address_.data() + sizeof(uint16_t), &bytes);
  });
  if (error == 0) {
    choose_lengths();
    monitor_.open(std::span(address_).subspan(sizeof(uint16_t)), setup_.key);
    const uint16_t port = monitor_.port();
    std::memcpy(address_.data(), &port, sizeof port);
    return {};
  }
  return fail(MPI_ERR_OTHER,
              "%s: %s refused: %s. Remedy: another provider (HEARTH_FABRIC_PROVIDER) or interface "
              "(HEARTH_FABRIC_INTERFACE)",
              way_.c_str(), doing, library_->strerror(-error));
}

// A provider in layers (ofi_rxm) has buffers of one length, its inject size. It would transfer a longer
// packet by a rendezvous of its own, which takes three times as long.
void FabricTransport::choose_lengths() {
  inject_bytes_max_ = info_->tx_attr->inject_size;
  const std::string_view provider = info_->fabric_attr->prov_name;
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
  if (!known || fi_av_insert(addresses_.get(), other.address.data() + sizeof(uint16_t), 1, &other.number, 0,
                             nullptr) != 1) {
    other.number = FI_ADDR_UNSPEC;
    return fail(MPI_ERR_OTHER,
                "%s does not take the address of rank %d (%zu bytes). Likely cause: another provider or "
                "interface there. Remedy: HEARTH_FABRIC_PROVIDER and HEARTH_FABRIC_INTERFACE alike on all "
                "machines",
                way_.c_str(), to, other.address.size());
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
  monitor_.watch(index, std::span(other.address).subspan(sizeof port), port,
                 param::get_time_ns(param::Id::fabric_alive));
}

// Memory.

bool FabricTransport::register_memory(const void* memory, size_t bytes, Fid<fid_mr>& registration) {
  if (!registers()) return true;
  fid_mr* made = nullptr;
  if (fi_mr_reg(domain_.get(), memory, bytes, FI_SEND | FI_RECV, 0, 0, 0, &made, nullptr) != 0) return false;
  registration.reset(made);
  if ((info_->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) return true;
  return fi_mr_bind(made, &endpoint_->fid, 0) == 0 && fi_mr_enable(made) == 0;
}

Status FabricTransport::take_slab() {
  Slab slab;
  slab.memory.reset(new (std::nothrow) std::byte[kBuffersEach * buffer_bytes()]);
  if (slab.memory == nullptr ||
      !register_memory(slab.memory.get(), kBuffersEach * buffer_bytes(), slab.registration)) {
    return fail(MPI_ERR_NO_MEM, "no memory for %d packets of the network (%s)", kBuffersEach, way_.c_str());
  }
  slab.buffers.resize(kBuffersEach);
  std::byte* data = slab.memory.get();
  for (Buffer& buffer : slab.buffers) {
    buffer.data = data;
    buffer.registration = slab.registration != nullptr ? fi_mr_desc(slab.registration.get()) : nullptr;
    data += buffer_bytes();
  }
  slabs_.push_back(std::move(slab));
  for (Buffer& buffer : slabs_.back().buffers) give_buffer(&buffer);
  return {};
}

FabricTransport::Buffer* FabricTransport::take_buffer() {
  if (free_ == nullptr && !take_slab().ok()) return nullptr;
  Buffer* buffer = free_;
  free_ = buffer->next;
  return buffer;
}

void FabricTransport::give_buffer(Buffer* buffer) {
  buffer->next = free_;
  free_ = buffer;
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
  if (claimed_ == nullptr) claimed_ = take_buffer();
  if (claimed_ != nullptr) return claimed_->data + sizeof(Wire);
  status = fail(MPI_ERR_NO_MEM, "no memory for a packet to rank %d over %s", to, way_.c_str());
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
  if (other.queue != nullptr && join(*other.queue_last, *buffer)) return give_buffer(buffer);
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
    give_buffer(buffer);
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
    error = fi_inject(endpoint_.get(), buffer->data, buffer->bytes, other.number);
    if (error == 0) give_buffer(buffer);
  } else {
    buffer->kind = Operation::Kind::send;
    buffer->peer = to;
    error = fi_send(endpoint_.get(), buffer->data, buffer->bytes, buffer->registration, other.number,
                    &buffer->own);
    if (error == 0) count_out(to);
  }
  if (error == -FI_EAGAIN) return false;
  if (error == 0) {
    other.taken_told = wire.taken;
    other.to_tell = false;
    return true;
  }
  give_buffer(buffer);
  lose(to, library_->strerror(static_cast<int>(-error)));
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
    if (send_queue(to) && (!other.to_tell || other.lost || tell(to, kTellsKind))) {
      other.waiting = other.to_tell = false;
      waiting_[i] = waiting_.back();
      waiting_.pop_back();
    } else {
      ++i;
    }
  }
}

// Sends a packet of the transport itself; false if it cannot be sent now. Pre: the queue is empty.
bool FabricTransport::tell(PeerIndex to, uint8_t kind) {
  if (peer(to).number == FI_ADDR_UNSPEC && !connect(to).ok()) return false;
  Buffer* buffer = take_buffer();
  if (buffer == nullptr) return false;
  Wire& wire = *reinterpret_cast<Wire*>(buffer->data);
  wire.header = {PacketHeader::make_commit(kind, 0, 0, 0), 0};
  wire.number = peer(to).sent;
  buffer->bytes = sizeof(Wire);
  if (post(to, buffer)) return true;
  give_buffer(buffer);
  return false;
}

void FabricTransport::add_unexpected_bytes(PeerIndex from, int64_t bytes) {
  Peer& other = peer(from);
  const int64_t before = other.unexpected_bytes;
  other.unexpected_bytes += bytes;
  // A flow-blocked sender waits for this to fall: acknowledge when it falls below a multiple of 1 MiB.
  if (bytes < 0 && before >> 20 != other.unexpected_bytes >> 20) {
    other.to_tell = true;
    list_waiting(from);
  }
}

}  // namespace hearth::transport
