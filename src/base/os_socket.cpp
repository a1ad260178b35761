#include "base/os_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/chaos.h"

namespace hearth::os {
namespace {

using chaos::Call;
using chaos::refuses;

constexpr int kWaitingMax = 4096;  // connections that wait to be accepted

// An abstract name begins with a zero byte and is not terminated by one. Returns the length of the address; 0
// with errno if the name is too long.
socklen_t fill_address(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (name.size() > sizeof address.sun_path - 1) {
    errno = ENAMETOOLONG;
    return 0;
  }
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// Control message that carries descriptors.
struct alignas(cmsghdr) ControlRoom {
  std::array<char, CMSG_SPACE(kPacketDescriptorsMax * sizeof(int))> bytes = {};
};

}  // namespace

namespace {

// The address with another port; returns its length, 0 for address families without ports.
socklen_t with_port(std::span<const std::byte> address, uint16_t port, sockaddr_storage& changed) {
  changed = {};
  std::memcpy(&changed, address.data(), std::min(address.size(), sizeof changed));
  if (changed.ss_family == AF_INET && address.size() >= sizeof(sockaddr_in)) {
    reinterpret_cast<sockaddr_in&>(changed).sin_port = htons(port);
    return sizeof(sockaddr_in);
  }
  if (changed.ss_family == AF_INET6 && address.size() >= sizeof(sockaddr_in6)) {
    reinterpret_cast<sockaddr_in6&>(changed).sin6_port = htons(port);
    return sizeof(sockaddr_in6);
  }
  return 0;
}

void set_option(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

Descriptor listen_at(std::span<const std::byte> address, uint16_t& port) {
  sockaddr_storage own;
  socklen_t bytes = with_port(address, 0, own);
  if (bytes == 0) return {};
  Descriptor socket(
      refuses(Call::socket) ? -1 : ::socket(own.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  auto* const bound = reinterpret_cast<sockaddr*>(&own);
  if (!socket.open() || ::bind(socket.number(), bound, bytes) != 0 ||
      ::listen(socket.number(), kWaitingMax) != 0 || ::getsockname(socket.number(), bound, &bytes) != 0) {
    return {};
  }
  port = ntohs(own.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(own).sin_port
                                        : reinterpret_cast<sockaddr_in6&>(own).sin6_port);
  return socket;
}

Descriptor watch_at(std::span<const std::byte> address, uint16_t port, uint64_t silent_ns) {
  sockaddr_storage other;
  const socklen_t bytes = with_port(address, port, other);
  if (bytes == 0) return {};
  Descriptor socket(
      refuses(Call::socket) ? -1 : ::socket(other.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return {};
  // One keepalive probe after a third of the time, two more before its end.
  constexpr int kQuestions = 3;
  const int third_s = std::max(1, static_cast<int>(silent_ns / 1'000'000'000) / kQuestions);
  set_option(socket.number(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket.number(), IPPROTO_TCP, TCP_KEEPIDLE, third_s);
  set_option(socket.number(), IPPROTO_TCP, TCP_KEEPINTVL, third_s);
  set_option(socket.number(), IPPROTO_TCP, TCP_KEEPCNT, kQuestions - 1);
  set_option(socket.number(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silent_ns / 1'000'000));
  const int begun = ::connect(socket.number(), reinterpret_cast<sockaddr*>(&other), bytes);
  return begun == 0 || errno == EINPROGRESS ? std::move(socket) : Descriptor();
}

std::string address_text(std::span<const std::byte> address) {
  sockaddr_storage known = {};
  std::memcpy(&known, address.data(), std::min(address.size(), sizeof known));
  socklen_t bytes = 0;
  if (known.ss_family == AF_INET && address.size() >= sizeof(sockaddr_in)) bytes = sizeof(sockaddr_in);
  if (known.ss_family == AF_INET6 && address.size() >= sizeof(sockaddr_in6)) bytes = sizeof(sockaddr_in6);
  char text[NI_MAXHOST];
  if (bytes == 0 || ::getnameinfo(reinterpret_cast<sockaddr*>(&known), bytes, text, sizeof text, nullptr, 0,
                                  NI_NUMERICHOST) != 0) {
    return "";
  }
  return text;
}

std::vector<std::string> addresses_of_host(const std::string& name, std::string& problem) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found); error != 0) {
    problem = ::gai_strerror(error);
    return {};
  }
  std::vector<std::string> texts;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const auto* bytes = reinterpret_cast<const std::byte*>(entry->ai_addr);
    texts.push_back(address_text({bytes, entry->ai_addrlen}));
  }
  ::freeaddrinfo(found);
  return texts;
}

int socket_error(int socket) {
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

bool is_socket(int descriptor) {
  struct stat status;
  return !refuses(Call::status) && ::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

bool send_all(int socket, const void* from, size_t bytes) {
  if (refuses(Call::packet)) return false;
  const char* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, next, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    next += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

Descriptor connect_to_port(const std::string& host, const std::string& port, std::string& problem) {
  addrinfo wanted = {};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); error != 0) {
    problem = ::gai_strerror(error);
    return {};
  }
  Descriptor socket;
  problem = "no address";
  for (const addrinfo* entry = found; entry != nullptr && !socket.open(); entry = entry->ai_next) {
    Descriptor tried(refuses(Call::socket)
                         ? -1
                         : ::socket(entry->ai_family, entry->ai_socktype | SOCK_CLOEXEC, entry->ai_protocol));
    int result = -1;
    if (tried.open() && !refuses(Call::connect))
      result = ::connect(tried.number(), entry->ai_addr, entry->ai_addrlen);
    if (result != 0) {
      problem = std::strerror(errno);
      continue;
    }
    const int on = 1;
    ::setsockopt(tried.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    socket = std::move(tried);
  }
  ::freeaddrinfo(found);
  return socket;
}

Descriptor listen_under_name(const std::string& name) {
  Descriptor socket(
      refuses(Call::socket) ? -1 : ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return {};
  sockaddr_un address;
  const socklen_t bytes = fill_address(name, address);
  if (bytes == 0 || refuses(Call::connect)) return {};
  if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return {};
  if (::listen(socket.number(), kWaitingMax) != 0) return {};
  return socket;
}

Descriptor accept_next(int listener) {
  return Descriptor(
      refuses(Call::connect) ? -1 : ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

Descriptor connect_to_name(const std::string& name, uint64_t timeout_ns) {
  Descriptor socket(refuses(Call::socket) ? -1 : ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.open()) return {};
  timeval limit;
  limit.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
  limit.tv_usec = static_cast<suseconds_t>(timeout_ns % 1'000'000'000 / 1000);
  ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (refuses(Call::connect)) return {};
  sockaddr_un address;
  const socklen_t bytes = fill_address(name, address);
  if (bytes == 0) return {};
  int result;
  do {
    result = ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), bytes);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return {};
  return socket;
}

bool make_socket_pair(Descriptor& one, Descriptor& other) {
  int pair[2];
  if (refuses(Call::socket) || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return false;
  one = Descriptor(pair[0]);
  other = Descriptor(pair[1]);
  return true;
}

bool wait_readable(std::span<const int> descriptors, int timeout_ms) {
  std::vector<pollfd> waited;
  for (const int descriptor : descriptors) waited.push_back({descriptor, POLLIN, 0});
  return ::poll(waited.data(), waited.size(), timeout_ms) > 0;
}

int64_t user_behind(int socket) {
  ucred user = {};
  socklen_t bytes = sizeof user;
  if (refuses(Call::status) || ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &user, &bytes) != 0) return -1;
  return user.uid;
}

int64_t own_user() {
  return ::geteuid();
}

void end_sending(int socket) {
  ::shutdown(socket, SHUT_WR);
}

bool send_packet(int socket, std::span<const std::byte> packet, std::span<const int> descriptors) {
  if (refuses(Call::packet)) return false;
  iovec piece = {const_cast<std::byte*>(packet.data()), packet.size()};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  ControlRoom room;
  if (!descriptors.empty() && descriptors.size() <= kPacketDescriptorsMax) {
    message.msg_control = room.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(control), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(packet.size());
}

intptr_t receive_packet(int socket, std::span<std::byte> packet, std::vector<Descriptor>& descriptors) {
  if (refuses(Call::packet)) return -1;
  iovec piece = {packet.data(), packet.size()};
  ControlRoom room;
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  const auto receive = [&] {
    message.msg_control = room.bytes.data();
    message.msg_controllen = room.bytes.size();
    ssize_t bytes;
    do {
      bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    } while (bytes < 0 && errno == EINTR);
    return bytes;
  };
  ssize_t received = receive();
  // Linux tests for a packet first and for the end of the connection later. If the peer sends a packet and
  // closes its socket in between, a non-blocking call reports the end before the packet. Nothing can arrive
  // after the end, so a second call is conclusive.
  if (received == 0) received = receive();
  if (received < 0) return -1;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(control) + i * sizeof(int), sizeof number);
      descriptors.emplace_back(number);
    }
  }
  return received;
}

}  // namespace hearth::os
