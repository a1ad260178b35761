// Who shares a machine with whom, when the launcher is not ours. Each rank leaves a card with the launcher's
// server; ranks whose cards name the same surroundings share a segment (bootstrap_share.h).
// Called once when the library starts, by the thread that starts it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/bootstrap_launcher.h"
#include "shm/arena.h"
#include "shm/segment.h"

namespace hearth::launch {

/// What a rank tells all others about the place where it runs.
struct NodeCard {
  std::string host;                         // its name, for people
  std::string surroundings;                 // os::shared_surroundings()
  std::string socket;                       // under which name it would listen
  std::array<std::byte, 16> question = {};  // who knows this is of the job
  std::array<std::byte, 16> answer = {};    // so is who knows this
  bool operator==(const NodeCard&) const = default;
};
std::vector<std::byte> to_bytes(const NodeCard& card);
bool parse_card(std::span<const std::byte> bytes, NodeCard& card);

/// The nodes of a job, numbered by their lowest ranks.
struct NodeMap {
  std::vector<int> node_of;             // each rank
  std::vector<std::vector<int>> ranks;  // of each node, rising
  std::vector<std::string> hosts;       // name of each node
  uint64_t secret = 0;                  // known to the ranks only
};
NodeMap map_nodes(std::span<const NodeCard> cards);

/// Makes the card of this process, and listens under its name.
Status make_card(NodeCard& card, os::Descriptor& listener);

/// Finds the node of every rank and shares memory with those of this one.
Status join_node(ForeignLauncher& launcher, NodeMap& nodes, shm::Segment& segment, shm::Arena& arena);

}  // namespace hearth::launch
