#include "abi/arrangement.h"

#include <algorithm>
#include <utility>

#include "abi/comm_making.h"
#include "abi/runtime.h"

namespace hearth::abi {
namespace {

topo::Distances distances_in(const Comm& comm, int count) {
  std::vector<shm::RankPlace> places;
  for (int rank = 0; rank < count; ++rank)
    places.push_back(runtime().job.segment.rank(comm.peers[rank]).place);
  return topo::Distances::between(places);
}

}  // namespace

bool can_arrange(const Comm& comm) {
  return !distances_in(comm, comm.size).uniform();
}

std::vector<int> arrange(const Comm& comm, int count, std::span<const topo::Traffic> traffic) {
  return topo::arrange(traffic, distances_in(comm, count));
}

Status make_arranged(const Comm& parent, uint32_t context, const std::vector<int>& ranks, Comm*& comm) {
  if (std::find(ranks.begin(), ranks.end(), parent.rank) == ranks.end()) return {};
  Peers peers;
  for (const int rank : ranks) peers.push_back(parent.peers[rank]);
  return make_intracomm(parent, context, std::move(peers), comm);
}

}  // namespace hearth::abi
