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

constexpr const char* kCardName = "node";
constexpr std::byte kCardVersion{1};
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

Status read_cards(ForeignLauncher& launcher, std::vector<NodeCard>& cards) {
  cards.resize(static_cast<size_t>(launcher.size()));
  std::vector<std::byte> bytes;
  for (int rank = 0; rank < launcher.size(); ++rank) {
    HEARTH_TRY(launcher.get(rank, kCardName, bytes));
    if (parse_card(bytes, cards[static_cast<size_t>(rank)])) continue;
    return fail(MPI_ERR_OTHER,
                "rank %d has left a card of format %d with the launcher's server, this library reads format "
                "%d. Likely cause: another version of Hearth there. Remedy: the same libmpi_abi.so.1 for all "
                "ranks of a job",
                rank, bytes.empty() ? 0 : static_cast<int>(bytes[0]), static_cast<int>(kCardVersion));
  }
  return {};
}

}  // namespace

std::vector<std::byte> to_bytes(const NodeCard& card) {
  std::vector<std::byte> bytes = {kCardVersion};
  bytes.insert(bytes.end(), card.question.begin(), card.question.end());
  bytes.insert(bytes.end(), card.answer.begin(), card.answer.end());
  append(card.socket, bytes);
  append(card.surroundings, bytes);
  append(card.host, bytes);
  return bytes;
}

bool parse_card(std::span<const std::byte> bytes, NodeCard& card) {
  if (bytes.empty() || bytes[0] != kCardVersion) return false;
  bytes = bytes.subspan(1);
  return take_secret(bytes, card.question) && take_secret(bytes, card.answer) &&
         take_text(bytes, card.socket) && take_text(bytes, card.surroundings) &&
         take_text(bytes, card.host) && bytes.empty() && !card.socket.empty();
}

NodeMap map_nodes(std::span<const NodeCard> cards) {
  NodeMap nodes;
  std::map<std::string, int> numbers;
  for (size_t rank = 0; rank < cards.size(); ++rank) {
    const auto [entry, is_new] =
        numbers.emplace(cards[rank].surroundings, static_cast<int>(nodes.ranks.size()));
    if (is_new) {
      nodes.ranks.emplace_back();
      nodes.hosts.push_back(printable(cards[rank].host));
    }
    nodes.node_of.push_back(entry->second);
    nodes.ranks[static_cast<size_t>(entry->second)].push_back(static_cast<int>(rank));
  }
  return nodes;
}

Status make_card(NodeCard& card, os::Descriptor& listener) {
  std::array<std::byte, 16> name = {};
  if (!os::fill_with_chance(name.data(), name.size()) ||
      !os::fill_with_chance(card.question.data(), card.question.size()) ||
      !os::fill_with_chance(card.answer.data(), card.answer.size())) {
    return fail(MPI_ERR_OTHER, "no random numbers: getrandom: %s. Remedy: allow it in the sandbox",
                std::strerror(errno));
  }
  card.host = os::host_name();
  card.surroundings = os::shared_surroundings();
  card.socket = "hearth-" + to_hex(name);
  listener = os::listen_under_name(card.socket);
  if (listener.open()) return {};
  return fail(
      MPI_ERR_OTHER,
      "cannot listen on an abstract local socket, by which ranks that another library's launcher has "
      "started find each other: %s. Remedy: allow sockets of AF_UNIX in the sandbox, or start the job "
      "with Hearth's mpiexec",
      std::strerror(errno));
}

Status join_node(ForeignLauncher& launcher, NodeMap& nodes, shm::Segment& segment, shm::Arena& arena) {
  NodeCard own;
  os::Descriptor listener;
  HEARTH_TRY(make_card(own, listener));
  HEARTH_TRY(launcher.put(kCardName, to_bytes(own)));
  HEARTH_TRY(launcher.fence());
  std::vector<NodeCard> cards;
  HEARTH_TRY(read_cards(launcher, cards));
  nodes = map_nodes(cards);
  std::memcpy(&nodes.secret, cards[0].question.data(), sizeof nodes.secret);
  const int node = nodes.node_of[static_cast<size_t>(launcher.rank())];
  const std::vector<int>& locals = nodes.ranks[static_cast<size_t>(node)];
  return share_segment(cards[static_cast<size_t>(locals[0])], std::move(listener), locals, launcher.rank(),
                       segment, arena);
}

}  // namespace hearth::launch
