#include "abi/ports.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/os_machine.h"
#include "base/os_process.h"
#include "base/os_socket.h"
#include "mpi.h"
#include "shm/layout.h"

namespace hearth::abi {
namespace {

constexpr std::string_view kScheme = "hearth:";
constexpr uint64_t kCallNs = 10'000'000'000;
constexpr size_t kStrangersMax = 64;

std::list<Port>& ports() {
  static auto& all = *new std::list<Port>;
  return all;
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

bool from_hex(std::string_view text, PortSecret& secret) {
  if (text.size() != 2 * secret.size()) return false;
  const auto digit = [](char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < secret.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    secret[i] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

// Constant time, so that the duration does not reveal where two secrets differ.
bool same_secret(const PortSecret& a, const PortSecret& b) {
  std::byte difference{0};
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

Status no_such_port(const std::string& name, const char* why) {
  return fail(
      MPI_ERR_PORT,
      "cannot connect to the port '%.100s': %s. Likely cause: the process that opened it has closed it "
      "or ended, or runs on another machine or in another network namespace",
      name.c_str(), why);
}

struct PortAddress {
  std::string socket;
  PortSecret secret;
};

bool parse(std::string_view name, PortAddress& address) {
  if (!name.starts_with(kScheme)) return false;
  name.remove_prefix(kScheme.size());
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return false;
  address.socket = name.substr(0, colon);
  name.remove_prefix(colon + 1);
  return from_hex(name.substr(0, name.find(':')), address.secret);
}

}  // namespace

Status Port::open(Port& port) {
  std::array<std::byte, 8> chance;
  if (!os::fill_with_chance(port.secret_.data(), port.secret_.size()) ||
      !os::fill_with_chance(chance.data(), chance.size())) {
    return fail(MPI_ERR_PORT, "cannot open a port: the system refuses random numbers (getrandom): %s",
                std::strerror(errno));
  }
  const std::string socket = "hearth-port-" + to_hex(chance);
  port.listener_ = os::listen_under_name(socket);
  if (!port.listener_.open()) {
    return fail(
        MPI_ERR_PORT,
        "cannot open a port: no local socket: %s. Remedy: raise the limit on open files (ulimit -n), or "
        "allow local sockets where a sandbox refuses them",
        std::strerror(errno));
  }
  port.name_ = std::string(kScheme) + socket + ":" + to_hex(port.secret_) + ":" + os::host_name();
  port.name_.resize(std::min(port.name_.size(), size_t{MPI_MAX_PORT_NAME - 1}));
  return {};
}

void Port::append_descriptors(std::vector<int>& descriptors) const {
  descriptors.push_back(listener_.number());
  for (const os::Descriptor& stranger : strangers_) descriptors.push_back(stranger.number());
}

bool Port::next_caller(Caller& caller) {
  for (os::Descriptor next = os::accept_next(listener_.number()); next.open();
       next = os::accept_next(listener_.number())) {
    if (os::user_behind(next.number()) == os::own_user()) strangers_.push_back(std::move(next));
    if (strangers_.size() > kStrangersMax) strangers_.pop_front();
  }
  if (strangers_.empty()) return false;
  std::vector<std::byte> packet(sizeof(CallerHello) + kConnectingMax * sizeof(ProcessName));
  for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
    std::vector<os::Descriptor> none;
    const intptr_t bytes = os::receive_packet(stranger->number(), packet, none);
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      ++stranger;
      continue;
    }
    os::Descriptor socket = std::move(*stranger);
    stranger = strangers_.erase(stranger);
    CallerHello hello;
    if (bytes < static_cast<intptr_t>(sizeof hello)) continue;
    std::memcpy(&hello, packet.data(), sizeof hello);
    if (!same_secret(hello.secret, secret_) || hello.magic != shm::kMagic || hello.processes == 0 ||
        hello.processes > kConnectingMax ||
        bytes != static_cast<intptr_t>(sizeof hello + hello.processes * sizeof(ProcessName))) {
      continue;
    }
    caller.names.resize(hello.processes);
    std::memcpy(caller.names.data(), packet.data() + sizeof hello, hello.processes * sizeof(ProcessName));
    caller.ring_lines = hello.ring_lines;
    caller.socket = std::move(socket);
    return true;
  }
  return false;
}

Status call_port(const std::string& name, const std::vector<ProcessName>& names, uint32_t ring_lines,
                 os::Descriptor& socket) {
  PortAddress address;
  if (!parse(name, address)) {
    return fail(MPI_ERR_PORT, "'%.100s' is not the name of a port of Hearth, as MPI_Open_port returns it",
                name.c_str());
  }
  if (names.size() > kConnectingMax) {
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "the connecting group has %zu processes: Hearth connects at most %zu at once", names.size(),
                kConnectingMax);
  }
  socket = os::connect_to_name(address.socket, kCallNs);
  if (!socket.open()) return no_such_port(name, std::strerror(errno));
  if (os::user_behind(socket.number()) != os::own_user()) {
    return no_such_port(name, "a process of another user has it");
  }
  CallerHello hello = {shm::kMagic, address.secret, static_cast<uint32_t>(names.size()), ring_lines};
  std::vector<std::byte> packet(sizeof hello + names.size() * sizeof(ProcessName));
  std::memcpy(packet.data(), &hello, sizeof hello);
  std::memcpy(packet.data() + sizeof hello, names.data(), names.size() * sizeof(ProcessName));
  if (!os::send_packet(socket.number(), packet, {})) return no_such_port(name, std::strerror(errno));
  os::set_nonblocking(socket.number(), true);
  return {};
}

bool answers(const std::string& name) {
  PortAddress address;
  if (!parse(name, address)) return false;
  return os::connect_to_name(address.socket, kCallNs).open();
}

Status open_port(std::string& name) {
  Port port;
  HEARTH_TRY(Port::open(port));
  name = port.name();
  ports().push_back(std::move(port));
  return {};
}

Status close_port(const std::string& name) {
  const size_t closed = std::erase_if(ports(), [&name](const Port& port) { return port.name() == name; });
  if (closed > 0) return {};
  return fail(MPI_ERR_PORT, "this process has no open port '%.100s'", name.c_str());
}

Port* find_port(const std::string& name) {
  const auto found =
      std::find_if(ports().begin(), ports().end(), [&name](const Port& port) { return port.name() == name; });
  return found == ports().end() ? nullptr : &*found;
}

}  // namespace hearth::abi
