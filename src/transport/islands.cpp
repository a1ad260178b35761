#include "transport/islands.h"

#include <algorithm>

#include "base/os_wait.h"

namespace hearth::transport {
namespace {

// If the kernel cannot wait for several words (futex_waitv), a process with bridges sleeps on its home word
// for this long between polls of the bridges.
constexpr uint64_t kNapNs = 1'000'000;

}  // namespace

// Bridges.

ShmTransport& Islands::add_bridge(const shm::Node& node) {
  bridges_.push_back({std::make_unique<ShmTransport>(node), &node.block().asleep});
  words_.push_back(bridges_.back().word);
  polled_ = this;
  return *bridges_.back().transport;
}

void Islands::remove_bridge(const ShmTransport& bridge) {
  const auto found = std::find_if(bridges_.begin(), bridges_.end(),
                                  [&bridge](const Bridge& one) { return one.transport.get() == &bridge; });
  std::erase(words_, found->word);
  bridges_.erase(found);
  if (bridges_.empty()) polled_ = home_.get();
}

void Islands::route(PeerIndex peer, ShmTransport* bridge) {
  const auto index = static_cast<size_t>(peer - home_size_);
  if (index >= routes_.size()) routes_.resize(index + 1);
  routes_[index] = bridge;
}

Limits Islands::limits_to(PeerIndex to) {
  if (is_home(to)) return home_->limits_to(to);
  const size_t fragment_bytes_max = node_.shares_pools_with(to) ? bounce_buffers().fragment_bytes_max() : 0;
  return {bridge_to(to)->packet_bytes_max(), fragment_bytes_max};
}

int Islands::poll(PacketHandler handler, void* receiver) {
  int packets = home_->poll(handler, receiver);
  for (const Bridge& bridge : bridges_) packets += bridge.transport->poll(handler, receiver);
  return packets;
}

void Islands::shuffle() {
  home_->shuffle();
  for (const Bridge& bridge : bridges_) bridge.transport->shuffle();
}

// Sleeping. Each word is prepared before the last poll, so that a packet in any segment wakes the process.

uint64_t Islands::prepare_sleep() {
  for (const Bridge& bridge : bridges_) bridge.transport->prepare_sleep();
  const uint64_t home_ns = home_->prepare_sleep();
  slept_on_ = words_;
  return home_ns;
}

void Islands::sleep(uint64_t timeout_ns) {
  if (slept_on_.size() == 1) return home_->sleep(timeout_ns);
  if (!os::futex_wait_any(slept_on_, 1, timeout_ns)) home_->sleep(std::min(timeout_ns, kNapNs));
}

void Islands::end_sleep(bool slept) {
  home_->end_sleep(slept);
  for (const Bridge& bridge : bridges_) bridge.transport->end_sleep(slept);
}

// The local path.

LocalPath* Islands::path_to(PeerIndex peer) {
  if (is_home(peer)) return &home_path_;
  const auto index = static_cast<size_t>(peer - home_size_);
  if (index >= routes_.size() || routes_[index] == nullptr) return nullptr;
  return &static_cast<Transport*>(routes_[index])->local_path();
}

shm::RingWriter* Islands::direct_ring_to(PeerIndex to) {
  LocalPath* path = path_to(to);
  return path == nullptr ? nullptr : path->direct_ring_to(to);
}

shm::RingReader* Islands::direct_ring_from(PeerIndex from) {
  LocalPath* path = path_to(from);
  return path == nullptr ? nullptr : path->direct_ring_from(from);
}

bool Islands::prefetch_room(PeerIndex to, size_t payload_bytes) {
  LocalPath* path = path_to(to);
  return path != nullptr && path->prefetch_room(to, payload_bytes);
}

bool Islands::target_of(PeerIndex peer, single_copy::Target& target) {
  LocalPath* path = path_to(peer);
  return path != nullptr && path->target_of(peer, target);
}

}  // namespace hearth::transport
