#include "launch/bootstrap_node.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/os_machine.h"
#include "base/os_process.h"
#include "base/os_socket.h"
#include "launch/bootstrap_share.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr const char* kAddressName = "node";
constexpr std::byte kAddressVersion{1};
constexpr size_t kTextMax = 255;

void append(const std::string& text, std::vector<std::byte>& bytes) {
  const size_t letters = std::min(text.size(), kTextMax);
  bytes.push_back(static_cast<std::byte>(letters));
  for (size_t i = 0; i < letters; ++i) bytes.push_back(static_cast<std::byte>(text[i]));
}

bool take_text(std::span<const std::byte>& bytes, std::string& text) {
  if (bytes.empty()) return false;
  const size_t letters = static_cast<size_t>(bytes[0]);
  bytes = bytes.subspan(1);
  if (bytes.size() < letters) return false;
  text.assign(reinterpret_cast<const char*>(bytes.data()), letters);
  bytes = bytes.subspan(letters);
  return true;
}

bool take_secret(std::span<const std::byte>& bytes, std::array<std::byte, 16>& secret) {
  if (bytes.size() < secret.size()) return false;
  std::copy_n(bytes.begin(), secret.size(), secret.begin());
  bytes = bytes.subspan(secret.size());
  return true;
}

Status read_addresses(ForeignLauncher& launcher, std::vector<NodeAddress>& published_by) {
  published_by.resize(static_cast<size_t>(launcher.size()));
  std::vector<std::byte> bytes;
  for (int rank = 0; rank < launcher.size(); ++rank) {
    HEARTH_TRY(launcher.get(rank, kAddressName, bytes));
    if (parse_address(bytes, published_by[static_cast<size_t>(rank)])) continue;
    return fail(MPI_ERR_OTHER,
                "rank %d has left a card of format %d with the launcher's server, this library reads format "
                "%d. Likely cause: another version of Hearth there. Remedy: the same libmpi_abi.so.1 for all "
                "ranks of a job",
                rank, bytes.empty() ? 0 : static_cast<int>(bytes[0]), static_cast<int>(kAddressVersion));
  }
  return {};
}

}  // namespace

std::vector<std::byte> to_bytes(const NodeAddress& published) {
  std::vector<std::byte> bytes = {kAddressVersion};
  bytes.insert(bytes.end(), published.question.begin(), published.question.end());
  bytes.insert(bytes.end(), published.answer.begin(), published.answer.end());
  append(published.socket, bytes);
  append(published.surroundings, bytes);
  append(published.host, bytes);
  return bytes;
}

bool parse_address(std::span<const std::byte> bytes, NodeAddress& published) {
  if (bytes.empty() || bytes[0] != kAddressVersion) return false;
  bytes = bytes.subspan(1);
  return take_secret(bytes, published.question) && take_secret(bytes, published.answer) &&
         take_text(bytes, published.socket) && take_text(bytes, published.surroundings) &&
         take_text(bytes, published.host) && bytes.empty() && !published.socket.empty();
}

NodeMap map_nodes(std::span<const NodeAddress> published_by) {
  NodeMap nodes;
  std::map<std::string, int> numbers;
  for (size_t rank = 0; rank < published_by.size(); ++rank) {
    const auto [entry, is_new] =
        numbers.emplace(published_by[rank].surroundings, static_cast<int>(nodes.ranks.size()));
    if (is_new) {
      nodes.ranks.emplace_back();
      nodes.hosts.push_back(printable(published_by[rank].host));
    }
    nodes.node_of.push_back(entry->second);
    nodes.ranks[static_cast<size_t>(entry->second)].push_back(static_cast<int>(rank));
  }
  return nodes;
}

Status make_address(NodeAddress& published, os::Descriptor& listener) {
  std::array<std::byte, 16> name = {};
  if (!os::fill_with_chance(name.data(), name.size()) ||
      !os::fill_with_chance(published.question.data(), published.question.size()) ||
      !os::fill_with_chance(published.answer.data(), published.answer.size())) {
    return fail(MPI_ERR_OTHER, "no random numbers: getrandom: %s. Remedy: allow it in the sandbox",
                std::strerror(errno));
  }
  published.host = os::host_name();
  published.surroundings = os::shared_surroundings();
  published.socket = "hearth-" + to_hex(name);
  listener = os::listen_under_name(published.socket);
  if (listener.open()) return {};
  return fail(
      MPI_ERR_OTHER,
      "cannot listen on an abstract local socket, by which ranks that another library's launcher has "
      "started find each other: %s. Remedy: allow sockets of AF_UNIX in the sandbox, or start the job "
      "with Hearth's mpiexec",
      std::strerror(errno));
}

Status join_node(ForeignLauncher& launcher, NodeMap& nodes, shm::Segment& segment, shm::Arena& arena) {
  NodeAddress own;
  os::Descriptor listener;
  HEARTH_TRY(make_address(own, listener));
  HEARTH_TRY(launcher.put(kAddressName, to_bytes(own)));
  HEARTH_TRY(launcher.fence());
  std::vector<NodeAddress> published_by;
  HEARTH_TRY(read_addresses(launcher, published_by));
  nodes = map_nodes(published_by);
  std::memcpy(&nodes.secret, published_by[0].question.data(), sizeof nodes.secret);
  const int node = nodes.node_of[static_cast<size_t>(launcher.rank())];
  const std::vector<int>& locals = nodes.ranks[static_cast<size_t>(node)];
  return share_segment(published_by[static_cast<size_t>(locals[0])], std::move(listener), locals,
                       launcher.rank(), segment, arena);
}

}  // namespace hearth::launch
