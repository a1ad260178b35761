// Ports (MPI 5.0 section 11.9): an abstract local socket, which leaves no file behind, and a secret. The name
// of a port contains both, so only a process that has the name can connect. Processes of other users are
// refused.
//
//   hearth:SOCKET:SECRET:HOST
//
// One list per process, under the library's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "abi/bridges.h"
#include "base/os_io.h"
#include "base/status.h"

namespace hearth::abi {

using PortSecret = std::array<std::byte, 16>;

/// The names of the processes are one packet of a local socket, whose default buffer holds 13,000 of them.
constexpr size_t kConnectingMax = 1 << 13;
constexpr size_t kConnectedMax = 12 << 10;  // both groups together

/// The first packet of a connecting root; the names of its group's processes follow.
struct CallerHello {
  uint64_t magic;  // shm::kMagic
  PortSecret secret;
  uint32_t processes;
  uint32_t ring_lines;
};

/// A root that wants to connect.
struct Caller {
  os::Descriptor socket;
  uint64_t timeout_ns = 0;  // for the answer; 0: none
  uint32_t ring_lines = 0;
  std::vector<ProcessName> names;
};

class Port {
 public:
  /// Opens a port with a new name.
  static Status open(Port& port);

  const std::string& name() const { return name_; }
  int descriptor() const { return listener_.number(); }
  /// Appends the listening socket and those of connections whose CallerHello has not arrived yet.
  void append_descriptors(std::vector<int>& descriptors) const;
  /// Takes the next caller whose CallerHello has arrived; false if there is none yet. Closes connections
  /// whose CallerHello is invalid or has a wrong secret.
  bool next_caller(Caller& caller);

 private:
  std::string name_;
  PortSecret secret_ = {};
  os::Descriptor listener_;
  std::list<os::Descriptor> strangers_;
};

/// Connects to a port; the socket is non-blocking. MPI_ERR_PORT if there is none of that name;
/// MPI_ERR_UNSUPPORTED_OPERATION if there are more names than kConnectingMax.
Status call_port(const std::string& name, const std::vector<ProcessName>& names, uint32_t ring_lines,
                 os::Descriptor& socket);

/// Whether a port of that name exists: its socket accepts a connection.
bool answers(const std::string& name);

/// The ports of MPI_Open_port.
Status open_port(std::string& name);
Status close_port(const std::string& name);
/// nullptr if this process has no port of that name.
Port* find_port(const std::string& name);

}  // namespace hearth::abi
