// Finds the ranks that share a machine if the launcher is not ours. Each rank publishes an endpoint address
// through the launcher's server; ranks with equal surroundings share a segment (bootstrap_share.h). Called
// once, by the thread that initialises MPI.
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

/// The endpoint address that a rank publishes to all other ranks.
struct NodeAddress {
  std::string host;                         // host name, for messages
  std::string surroundings;                 // os::shared_surroundings()
  std::string socket;                       // abstract name of its listening socket
  std::array<std::byte, 16> question = {};  // proves that a connecting process is of the job
  std::array<std::byte, 16> answer = {};    // proves that the listening process is of the job
  bool operator==(const NodeAddress&) const = default;
};
std::vector<std::byte> to_bytes(const NodeAddress& published);
bool parse_address(std::span<const std::byte> bytes, NodeAddress& published);

/// The nodes of a job, numbered by their lowest ranks.
struct NodeMap {
  std::vector<int> node_of;             // of each rank
  std::vector<std::vector<int>> ranks;  // of each node, ascending
  std::vector<std::string> hosts;       // of each node
  uint64_t secret = 0;                  // random number that only the job's ranks know
};
NodeMap map_nodes(std::span<const NodeAddress> published_by);

/// Creates the endpoint address of this process and listens under its socket name.
Status make_address(NodeAddress& published, os::Descriptor& listener);

/// Finds the node of every rank and shares memory with the ranks of this node.
Status join_node(ForeignLauncher& launcher, NodeMap& nodes, shm::Segment& segment, shm::Arena& arena);

}  // namespace hearth::launch
