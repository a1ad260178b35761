// Sockets, as little of them as the start of a job needs: to the server of a launcher, and between processes
// of one machine by names that are no files (they live in the network namespace and go with the socket).
// Used when the library starts, from one thread; nothing here is on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/os_io.h"

namespace hearth::os {

bool is_socket(int descriptor);

/// Sends all bytes; false with errno. A reader that is gone is EPIPE, never SIGPIPE.
bool send_all(int socket, const void* from, size_t bytes);

/// Connects to "host:port"; not open, with `problem` in words, on failure.
Descriptor connect_to_port(const std::string& host, const std::string& port, std::string& problem);

/// Listens for connections over the network at an address, the bytes of a sockaddr_in or sockaddr_in6, at a
/// port that the system chooses. Close-on-exec, non-blocking; not open for other kinds of addresses.
Descriptor listen_at(std::span<const std::byte> address, uint16_t& port);
/// Begins to connect there, and has the system close the connection once the other side has not answered it
/// for so long. Such a socket becomes readable when the other side is gone.
Descriptor watch_at(std::span<const std::byte> address, uint16_t port, uint64_t silent_ns);
/// Why a connection is over: 0 where the other side has closed it.
int socket_error(int socket);

/// "10.1.2.3" of the bytes of a sockaddr_in or sockaddr_in6; "" of any other.
std::string address_text(std::span<const std::byte> address);
/// The addresses that a host's name stands for, as everybody here would look it up; none, and why, where it
/// stands for nothing.
std::vector<std::string> addresses_of_host(const std::string& name, std::string& problem);

/// Listens under an abstract name for others to connect who send and receive whole packets. Close-on-exec,
/// non-blocking; not open with errno on failure (EADDRINUSE: somebody has the name).
Descriptor listen_under_name(const std::string& name);
/// The next one who has connected, non-blocking; not open when there is none.
Descriptor accept_next(int listener);
/// Connects to a name; sending and receiving there give up with EAGAIN after `timeout_ns`.
Descriptor connect_to_name(const std::string& name, uint64_t timeout_ns);

/// The user who was on the other side when it connected or listened; -1 when the system does not tell.
int64_t user_behind(int socket);
int64_t own_user();

/// Sends one packet, and with it descriptors for the receiver; false with errno.
bool send_packet(int socket, std::span<const std::byte> packet, std::span<const int> descriptors);
/// Receives one packet: its bytes, which are more than fit when it was cut; 0 when the other side is gone; -1
/// with errno. Descriptors that came along are close-on-exec.
intptr_t receive_packet(int socket, std::span<std::byte> packet, std::vector<Descriptor>& descriptors);

}  // namespace hearth::os
