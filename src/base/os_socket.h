// Sockets, as far as the start of a job needs them: connections to a launcher's server, and between processes
// of one machine by abstract names (names in the network namespace, without files, which vanish with the
// socket). Used by one thread when the library starts; not on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/os_io.h"

namespace hearth::os {

bool is_socket(int descriptor);

/// Sends all bytes; false with errno. EPIPE, never SIGPIPE, if the reader has closed the connection.
bool send_all(int socket, const void* from, size_t bytes);

/// Connects to "host:port"; not open, with the reason in `problem`, on failure.
Descriptor connect_to_port(const std::string& host, const std::string& port, std::string& problem);

/// Listens for network connections at an address, the bytes of a sockaddr_in or sockaddr_in6, on a port that
/// the system chooses. Close-on-exec, non-blocking; not open for other address families.
Descriptor listen_at(std::span<const std::byte> address, uint16_t& port);
/// Starts a non-blocking connect. The system closes the connection if the peer does not answer for
/// `silent_ns`. The socket becomes readable when the connection ends.
Descriptor watch_at(std::span<const std::byte> address, uint16_t port, uint64_t silent_ns);
/// Why a connection ended: an errno, or 0 if the peer closed it.
int socket_error(int socket);

/// "10.1.2.3" for the bytes of a sockaddr_in or sockaddr_in6; "" for others.
std::string address_text(std::span<const std::byte> address);
/// The addresses of a host name, by the system's resolver; empty, with the reason in `problem`, on failure.
std::vector<std::string> addresses_of_host(const std::string& name, std::string& problem);

/// Listens at an abstract name for connections that carry whole packets. Close-on-exec, non-blocking; not
/// open with errno on failure (EADDRINUSE: the name is taken).
Descriptor listen_under_name(const std::string& name);
/// Accepts the next connection, non-blocking; not open if there is none.
Descriptor accept_next(int listener);
/// Connects to a name; sends and receives on the socket fail with EAGAIN after `timeout_ns`.
Descriptor connect_to_name(const std::string& name, uint64_t timeout_ns);

/// Two connected sockets that carry whole packets. Close-on-exec; false with errno.
bool make_socket_pair(Descriptor& one, Descriptor& other);
/// Waits up to `timeout_ms` until one of the descriptors is readable or closed by its peer, and returns
/// whether one is. Entries that are not open are skipped.
bool wait_readable(std::span<const int> descriptors, int timeout_ms);

/// The user id of the peer when it connected or listened; -1 if unknown.
int64_t user_behind(int socket);
int64_t own_user();
/// The other side receives the end of the connection after what was sent; receiving stays possible.
void end_sending(int socket);

/// Descriptors of one packet.
constexpr size_t kPacketDescriptorsMax = 32;
/// Sends one packet together with descriptors; false with errno. Pre: at most kPacketDescriptorsMax of them.
bool send_packet(int socket, std::span<const std::byte> packet, std::span<const int> descriptors);
/// Receives one packet and returns its length, which exceeds the buffer if the packet was truncated; 0 if the
/// peer has closed the connection; -1 with errno. Received descriptors are close-on-exec.
intptr_t receive_packet(int socket, std::span<std::byte> packet, std::vector<Descriptor>& descriptors);

}  // namespace hearth::os
