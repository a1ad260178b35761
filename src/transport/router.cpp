#include "transport/router.h"

#include <algorithm>
#include <utility>

namespace hearth::transport {
namespace {

// Idle polls of the network before they become rarer. One takes about 1 us, an answer from another machine 10
// us or more.
constexpr uint32_t kEagerPolls = 256;
// Idle polls of the network after which the interval doubles, up to a maximum at which they take one or two
// percent of the time.
constexpr uint32_t kPollsEach = 16;
constexpr uint32_t kIntervalMax = 4096;
// Time of a sleep between two polls of the network. It doubles each time, so that it stays short compared
// with the time already slept.
constexpr uint64_t kNapNsMin = 20'000;
constexpr uint64_t kNapNsMax = 1'000'000;

}  // namespace

Router::Router(const shm::Node& node, std::unique_ptr<Transport> local, std::unique_ptr<Network> remote)
    : node_(node),
      local_(std::move(local)),
      remote_(std::move(remote)),
      remote_buffers_(remote_->buffer_transfers()),
      nap_ns_(kNapNsMin) {}

size_t Router::packet_bytes_max() const {
  return std::max(local_->packet_bytes_max(), remote_->packet_bytes_max());
}

// Sending.

void Router::commit(PeerIndex to, uint8_t kind, uint8_t flags, size_t payload_bytes, uint32_t cookie,
                    uint64_t match) {
  this->to(to).commit(to, kind, flags, payload_bytes, cookie, match);
  if (!is_local(to)) expect_remote();
}

bool Router::await(PeerIndex from, uint32_t number, std::byte* buffer, size_t bytes,
                   const PacketHeader& over) {
  return !is_local(from) && remote_buffers_.await(from, number, buffer, bytes, over);
}

bool Router::send(PeerIndex to, uint32_t number, const std::byte* buffer, size_t bytes,
                  const PacketHeader& over) {
  if (is_local(to) || !remote_buffers_.send(to, number, buffer, bytes, over)) return false;
  expect_remote();
  return true;
}

// Receiving.

int Router::poll(PacketHandler handler, void* receiver) {
  int packets = local_->poll(handler, receiver);
  if (--polls_until_remote_ == 0) packets += poll_remote(handler, receiver);
  return packets;
}

int Router::poll_remote(PacketHandler handler, void* receiver) {
  const int packets = remote_->poll(handler, receiver);
  if (packets > 0 || !remote_->quiet()) {
    expect_remote();
  } else if (++remote_idle_polls_ >= kEagerPolls && remote_idle_polls_ % kPollsEach == 0) {
    remote_interval_ = std::min(remote_interval_ * 2, kIntervalMax);
  }
  polls_until_remote_ = remote_interval_;
  return packets;
}

void Router::expect_remote() {
  remote_interval_ = polls_until_remote_ = 1;
  remote_idle_polls_ = 0;
  nap_ns_ = kNapNsMin;
}

// Sleeping.

uint64_t Router::prepare_sleep() {
  local_->prepare_sleep();
  // The last poll before the sleep includes the network.
  polls_until_remote_ = 1;
  return nap_ns_;
}

void Router::end_sleep(bool slept) {
  local_->end_sleep(slept);
  if (!slept) return;
  nap_ns_ = std::min(nap_ns_ * 2, kNapNsMax);
  polls_until_remote_ = 1;
}

}  // namespace hearth::transport
