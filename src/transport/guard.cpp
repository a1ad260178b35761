#include "transport/guard.h"

#include <cstring>
#include <utility>

#include "base/os_socket.h"

namespace hearth::transport {

void Guard::open(std::span<const std::byte> address) {
  listener_ = os::listen_at(address, port_);
  if (listener_.open()) poller_.add(listener_.number(), kListenerToken, true, false);
}

void Guard::watch(PeerIndex peer, std::span<const std::byte> address, uint16_t port, uint64_t silent_ns) {
  if (port == 0) return;
  os::Descriptor connection = os::watch_at(address, port, silent_ns);
  if (!connection.open()) return;
  poller_.add(connection.number(), watched_.size(), true, false);
  watched_.push_back({peer, std::move(connection)});
}

std::vector<Guard::Gone> Guard::look() {
  std::vector<Gone> gone;
  for (const os::Poller::Event& event : poller_.wait(0)) {
    if (event.token == kListenerToken) {
      os::Descriptor watcher = os::accept_next(listener_.number());
      if (watcher.open()) watchers_.push_back(std::move(watcher));
      continue;
    }
    Watched& watched = watched_[static_cast<size_t>(event.token)];
    const int error = os::socket_error(watched.connection.number());
    poller_.remove(watched.connection.number());
    watched.connection.reset();
    gone.push_back({watched.peer, error == 0 ? "its process has ended" : std::strerror(error)});
  }
  return gone;
}

}  // namespace hearth::transport
