#include "transport/router.h"

#include <algorithm>
#include <utility>

namespace hearth::transport {
namespace {

// Idle polls of the network before they become rarer. One takes about 1 us, an answer from another machine 10
// us or more.
constexpr uint32_t kEagerLooks = 256;
// Idle polls of the network after which the interval doubles, up to a maximum at which they take one or two
// percent of the time.
constexpr uint32_t kLooksEach = 16;
constexpr uint32_t kIntervalMax = 4096;
// Time of a sleep between two polls of the network. It doubles each time, so that it stays short compared
// with the time already slept.
constexpr uint64_t kNapNsMin = 20'000;
constexpr uint64_t kNapNsMax = 1'000'000;

}  // namespace

Router::Router(std::unique_ptr<ShmTransport> near, std::unique_ptr<Network> far, std::vector<int> places)
    : near_(std::move(near)),
      far_(std::move(far)),
      near_buffers_(near_->bounce_buffers()),
      near_path_(near_->local_path()),
      far_buffers_(far_->buffer_transfers()),
      places_(std::move(places)),
      nap_ns_(kNapNsMin) {
  for (size_t peer = 0; peer < places_.size(); ++peer) {
    const int place = places_[peer];
    if (place < 0) continue;
    if (locals_.size() <= static_cast<size_t>(place)) locals_.resize(static_cast<size_t>(place) + 1);
    locals_[static_cast<size_t>(place)] = static_cast<PeerIndex>(peer);
  }
}

size_t Router::packet_bytes_max() const {
  return std::max(near_->packet_bytes_max(), far_->packet_bytes_max());
}

Limits Router::limits_to(PeerIndex to) {
  return is_near(to) ? near_->limits_to(place_of(to)) : far_->limits_to(to);
}

// Sending.

std::byte* Router::claim(PeerIndex to, size_t payload_bytes, Status& status) {
  if (is_near(to)) return near_->claim(place_of(to), payload_bytes, status);
  return far_->claim(to, payload_bytes, status);
}

void Router::commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                    uint64_t match) {
  if (is_near(to)) return near_->commit(place_of(to), kind, flags, payload_bytes, cookie, match);
  far_->commit(to, kind, flags, payload_bytes, cookie, match);
  expect_far();
}

shm::RingWriter* Router::direct_ring_to(PeerIndex to) {
  return is_near(to) ? near_path_.direct_ring_to(place_of(to)) : nullptr;
}

shm::RingReader* Router::direct_ring_from(PeerIndex from) {
  return is_near(from) ? near_path_.direct_ring_from(place_of(from)) : nullptr;
}

bool Router::prefetch_room(PeerIndex to, size_t payload_bytes) {
  return is_near(to) && near_path_.prefetch_room(place_of(to), payload_bytes);
}

bool Router::await(PeerIndex from, uint32_t number, std::byte* buffer, size_t bytes,
                   const PacketHeader& over) {
  return !is_near(from) && far_buffers_.await(from, number, buffer, bytes, over);
}

bool Router::send(PeerIndex to, uint32_t number, const std::byte* buffer, size_t bytes,
                  const PacketHeader& over) {
  if (is_near(to) || !far_buffers_.send(to, number, buffer, bytes, over)) return false;
  expect_far();
  return true;
}

// Receiving.

void Router::from_near(void* packets, PeerIndex place, const PacketHeader& header, const std::byte* payload) {
  const NearPackets& near = *static_cast<const NearPackets*>(packets);
  const PeerIndex from = near.router->locals_[static_cast<size_t>(place)];
  // Network packets may be longer than any ring holds. From a ring, such a length is a damaged packet.
  if (header.bytes() > near.router->near_->packet_bytes_max()) {
    return near.handler(near.receiver, from, PacketHeader{}, payload);
  }
  near.handler(near.receiver, from, header, payload);
}

int Router::poll(PacketHandler handler, void* receiver) {
  NearPackets near = {this, handler, receiver};
  int packets = near_->poll(&Router::from_near, &near);
  if (--polls_until_far_ == 0) packets += poll_far(handler, receiver);
  return packets;
}

int Router::poll_far(PacketHandler handler, void* receiver) {
  const int packets = far_->poll(handler, receiver);
  if (packets > 0 || !far_->quiet()) {
    expect_far();
  } else if (++far_idle_looks_ >= kEagerLooks && far_idle_looks_ % kLooksEach == 0) {
    far_interval_ = std::min(far_interval_ * 2, kIntervalMax);
  }
  polls_until_far_ = far_interval_;
  return packets;
}

void Router::expect_far() {
  far_interval_ = polls_until_far_ = 1;
  far_idle_looks_ = 0;
  nap_ns_ = kNapNsMin;
}

uint32_t Router::unexpected_kib_at(PeerIndex to) {
  return is_near(to) ? near_->unexpected_kib_at(place_of(to)) : far_->unexpected_kib_at(to);
}

void Router::add_unexpected_bytes(PeerIndex from, int64_t bytes) {
  if (is_near(from)) return near_->add_unexpected_bytes(place_of(from), bytes);
  far_->add_unexpected_bytes(from, bytes);
}

// Memory of this machine.

uint32_t Router::ticket(PeerIndex owner, int run) {
  return near_buffers_.ticket(place_of(owner), run);
}

bool Router::returned(PeerIndex owner, int run, uint32_t ticket) {
  return near_buffers_.returned(place_of(owner), run, ticket);
}

std::byte* Router::memory(PeerIndex owner, int run, size_t bytes) {
  return is_near(owner) ? near_buffers_.memory(place_of(owner), run, bytes) : nullptr;
}

void Router::release(PeerIndex owner, int run, PeerIndex from) {
  if (is_near(owner)) near_buffers_.release(place_of(owner), run, place_of(from));
}

bool Router::target_of(PeerIndex peer, single_copy::Target& target) {
  return is_near(peer) && near_path_.target_of(place_of(peer), target);
}

bool Router::is_gone(PeerIndex peer) {
  return is_near(peer) ? near_->is_gone(place_of(peer)) : far_->is_gone(peer);
}

// Sleeping.

uint64_t Router::prepare_sleep() {
  near_->prepare_sleep();
  // The last poll before the sleep includes the network.
  polls_until_far_ = 1;
  return nap_ns_;
}

void Router::end_sleep(bool slept) {
  near_->end_sleep(slept);
  if (!slept) return;
  nap_ns_ = std::min(nap_ns_ * 2, kNapNsMax);
  polls_until_far_ = 1;
}

}  // namespace hearth::transport
