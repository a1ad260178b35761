#include "transport/connection_monitor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/os_socket.h"
#include "base/os_wait.h"

namespace hearth::transport {

void ConnectionMonitor::open(std::span<const std::byte> address, uint64_t key) {
  std::memcpy(secret_.data(), &key, sizeof key);
  listener_ = os::listen_at(address, port_);
  if (listener_.open()) poller_.add(listener_.number(), kListenerToken, true, false);
}

void ConnectionMonitor::watch(PeerIndex peer, std::span<const std::byte> address, uint16_t port,
                              uint64_t silent_ns) {
  if (port == 0) return;
  os::Descriptor connection = os::watch_at(address, port, silent_ns);
  if (!connection.open()) return;
  poller_.add(connection.number(), watched_.size(), true, true);
  watched_.push_back({peer, std::move(connection)});
}

// Incoming connections.

void ConnectionMonitor::drop(size_t place) {
  os::Descriptor& connection = watchers_[place].connection;
  if (!connection.open()) return;
  poller_.remove(connection.number());
  connection.reset();
}

// If there are too many connections that have not sent the secret, drops the oldest. False: even that one is
// too young, and new connections have to wait.
bool ConnectionMonitor::make_room() {
  size_t strangers = 0;
  size_t oldest = watchers_.size();
  for (size_t place = 0; place < watchers_.size(); ++place) {
    const Watcher& watcher = watchers_[place];
    if (watcher.known || !watcher.connection.open()) continue;
    ++strangers;
    if (oldest == watchers_.size() || watcher.since_ns < watchers_[oldest].since_ns) oldest = place;
  }
  if (strangers < kStrangersMax) return true;
  if (os::now_ns() - watchers_[oldest].since_ns < kStrangerNs) return false;
  refused_ = true;
  drop(oldest);
  return true;
}

void ConnectionMonitor::accept() {
  if (!make_room()) return;
  os::Descriptor connection = os::accept_next(listener_.number());
  if (!connection.open()) return;
  auto place = std::find_if(watchers_.begin(), watchers_.end(),
                            [](const Watcher& watcher) { return !watcher.connection.open(); });
  if (place == watchers_.end()) place = watchers_.insert(place, Watcher{});
  const auto token = static_cast<uint64_t>(place - watchers_.begin());
  poller_.add(connection.number(), kWatcherBit | token, true, false);
  *place = {std::move(connection), os::now_ns(), {}};
}

void ConnectionMonitor::read_secret(size_t place) {
  Watcher& watcher = watchers_[place];
  if (!watcher.connection.open()) return;
  const int number = watcher.connection.number();
  const intptr_t bytes =
      os::read_some(number, watcher.received.data() + watcher.bytes, watcher.received.size() - watcher.bytes);
  if (bytes < 0 && errno == EAGAIN) return;
  if (bytes <= 0) return drop(place);
  watcher.bytes += static_cast<size_t>(bytes);
  if (watcher.bytes < watcher.received.size()) return;
  watcher.known = watcher.received == secret_;
  if (watcher.known) return poller_.remove(number);
  refused_ = true;
  drop(place);
}

std::vector<ConnectionMonitor::Gone> ConnectionMonitor::take_gone() {
  std::vector<Gone> gone;
  for (const os::Poller::Event& event : poller_.wait(0)) {
    if (event.token == kListenerToken) {
      accept();
      continue;
    }
    if ((event.token & kWatcherBit) != 0) {
      read_secret(static_cast<size_t>(event.token & ~kWatcherBit));
      continue;
    }
    Watched& watched = watched_[static_cast<size_t>(event.token)];
    const int number = watched.connection.number();
    const int error = os::socket_error(number);
    poller_.remove(number);
    if (!watched.greeted && !event.readable && error == 0) {
      watched.greeted = true;
      os::send_all(number, secret_.data(), secret_.size());
      poller_.add(number, event.token, true, false);
      continue;
    }
    watched.connection.reset();
    const bool silent = error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
    gone.push_back({watched.peer, error == 0 ? "its process has ended" : std::strerror(error), silent});
  }
  return gone;
}

}  // namespace hearth::transport
