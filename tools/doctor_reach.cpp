#include "doctor_reach.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>

#include "base/os_machine.h"
#include "base/os_socket.h"
#include "base/os_wait.h"
#include "launch/bootstrap_launcher.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"

namespace hearth::tools {
namespace {

// A firewall that drops packets reports no error.
constexpr uint64_t kPatienceNs = 3'000'000'000;
constexpr size_t kProblemLettersMax = 200;
constexpr char kSeparator = '\x1f';

/// The address at which a machine listens.
struct Door {
  std::string host;
  std::string provider;  // "tcp;ofi_rxm"
  std::string way;       // "tcp;ofi_rxm on eth0"; "" if there is none
  std::string problem;
  uint16_t port = 0;  // 0: not an Internet address
  std::vector<std::byte> address;
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == kSeparator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> to_card(const Door& door) {
  return bytes_of(fmt::format("{}{}{}{}{}{}{}{}{}", door.host, kSeparator, door.way, kSeparator, door.problem,
                              kSeparator, door.port, kSeparator, launch::to_hex(door.address)));
}

Status from_card(int rank, const std::vector<std::byte>& published, Door& door) {
  const std::vector<std::string> parts = split(text_of(published));
  int port = 0;
  if (parts.size() != 5 || !launch::parse_small(parts[3], port) || port > UINT16_MAX ||
      !launch::from_hex(parts[4], door.address)) {
    return fail(MPI_ERR_OTHER, "rank %d is a `hearth doctor` of another version", rank);
  }
  door.host = parts[0];
  door.way = parts[1];
  door.provider = door.way.substr(0, door.way.find(' '));
  door.problem = parts[2];
  door.port = static_cast<uint16_t>(port);
  return {};
}

os::Descriptor open_door(Door& door) {
  const NetworkFacts network = probe_network();
  door.host = os::host_name();
  // PMI-1 servers accept a kilobyte.
  door.problem = network.problem.substr(0, kProblemLettersMax);
  os::Descriptor listener;
  if (!network.problem.empty()) return listener;
  door.way = network.offer.chosen;
  door.address = network.offer.address;
  // Connections are not accepted: reaching the system's queue is enough.
  return os::listen_at(door.address, door.port);
}

const char* remedy_for(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "a firewall between the two refuses connections, or both have this address: allow TCP between "
             "the "
             "machines of the job, or name another interface in HEARTH_FABRIC_INTERFACE";
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "no route from one to the other: name an interface that both machines share a network by in "
             "HEARTH_FABRIC_INTERFACE";
    default:
      return "a firewall drops what comes, or the interface belongs to another network: allow TCP between "
             "the "
             "machines of the job, or name another interface in HEARTH_FABRIC_INTERFACE";
  }
}

std::string in_words(int error) {
  return error == EAGAIN ? fmt::format("no answer within {} s", kPatienceNs / 1'000'000'000)
                         : std::strerror(error);
}

/// 0, or the error of the connection, for each of these with a port. Without a port, the result is unknown.
std::map<int, int> try_doors(const std::map<int, Door>& doors) {
  std::map<int, int> errors;
  std::map<int, os::Descriptor> trials;
  os::Poller poller;
  for (const auto& [rank, door] : doors) {
    if (door.port == 0) continue;
    os::Descriptor trial = os::watch_at(door.address, door.port, kPatienceNs);
    errors[rank] = trial.open() ? EAGAIN : errno;
    if (!trial.open()) continue;
    poller.add(trial.number(), static_cast<uint64_t>(rank), false, true);
    trials[rank] = std::move(trial);
  }
  const uint64_t end_ns = os::now_ns() + kPatienceNs;
  while (!trials.empty() && os::now_ns() < end_ns) {
    for (const os::Poller::Event& event : poller.wait(50)) {
      const int rank = static_cast<int>(event.token);
      errors[rank] = os::socket_error(trials[rank].number());
      poller.remove(trials[rank].number());
      trials.erase(rank);
    }
  }
  return errors;
}

HostConnection way_between(const Door& from, const Door& to, int error) {
  HostConnection way = {from.host, to.host, "", "", ""};
  way.by =
      fmt::format("{}, {} -> {}", from.way, os::address_text(from.address), os::address_text(to.address));
  if (!from.problem.empty() || !to.problem.empty()) {
    const Door& bad = from.problem.empty() ? to : from;
    way.by = "";
    way.problem = fmt::format("{} has no network: {}", bad.host, bad.problem);
  } else if (from.provider != to.provider) {
    way.problem = fmt::format("{} would use {}, {} {}", from.host, from.provider, to.host, to.provider);
    way.remedy = "the same HEARTH_FABRIC_PROVIDER on all machines";
  } else if (error != 0) {
    way.problem = in_words(error);
    way.remedy = remedy_for(error);
  }
  return way;
}

}  // namespace

Status try_ways(std::vector<HostConnection>& ways, bool& tells) {
  std::unique_ptr<launch::ForeignLauncher> launcher;
  HEARTH_TRY(launch::connect_to_launcher(launch::find_launcher(), launcher));
  Door own;
  const os::Descriptor listener = open_door(own);
  HEARTH_TRY(launcher->put("door", to_card(own)));
  HEARTH_TRY(launcher->fence());
  // One rank of each machine connects to the others and listens.
  std::map<std::string, int> first;
  std::map<int, Door> doors;
  std::vector<std::byte> published;
  for (int rank = 0; rank < launcher->size(); ++rank) {
    HEARTH_TRY(launcher->get(rank, "door", published));
    Door door;
    HEARTH_TRY(from_card(rank, published, door));
    if (first.emplace(door.host, rank).second) doors[rank] = std::move(door);
  }
  if (doors.contains(launcher->rank())) {
    std::string found = "tried";
    for (const auto& [rank, error] : try_doors(doors))
      found += fmt::format("{}{}{}{}", kSeparator, rank, kSeparator, error);
    HEARTH_TRY(launcher->put("ways", bytes_of(found)));
  }
  HEARTH_TRY(launcher->fence());
  tells = launcher->rank() == 0;
  for (const auto& [from, door] : doors) {
    if (!tells) break;
    HEARTH_TRY(launcher->get(from, "ways", published));
    const std::vector<std::string> parts = split(text_of(published));
    std::map<int, int> errors;
    for (size_t i = 1; i + 1 < parts.size(); i += 2) {
      int to = 0;
      int error = 0;
      if (launch::parse_small(parts[i], to) && launch::parse_small(parts[i + 1], error)) errors[to] = error;
    }
    for (const auto& [to, other] : doors) {
      if (to != from) ways.push_back(way_between(door, other, errors[to]));
    }
  }
  // Keep listening until all ranks have tested their connections.
  HEARTH_TRY(launcher->fence());
  launcher->finalize();
  return {};
}

}  // namespace hearth::tools
