#include "route.h"

#include <algorithm>
#include <cstdlib>

#include "mpi.h"
#include "shm/buffer_pool.h"
#include "shm/ring.h"
#include "shm/segment.h"
#include "transport/fabric.h"
#include "tune/threshold.h"

namespace hearth::tools {
namespace {

const topo::Processor* find_processor(const topo::Machine& machine, int number) {
  for (const topo::Processor& processor : machine.processors()) {
    if (processor.number == number) return &processor;
  }
  return nullptr;
}

}  // namespace

tune::ProfileSearch use_profile(const topo::Machine& machine) {
  tune::ProfileSearch search = tune::find_profile(machine);
  if (std::getenv(tune::kVariable) == nullptr && search.profile) tune::use(search.profile->values());
  return search;
}

topo::Relation relation_of_processors(const topo::Machine& machine, int a, int b) {
  const topo::Processor* first = find_processor(machine, a);
  const topo::Processor* second = find_processor(machine, b);
  if (first == nullptr || second == nullptr || first == second) return topo::Relation::unknown;
  return topo::relation_of(first->place, second->place);
}

std::vector<RelationPair> pairs_of(const topo::Machine& machine) {
  std::vector<RelationPair> found;
  // Neighbours in the list share the most hardware, so the pairs of the first processor have all relations.
  const std::vector<topo::Processor>& processors = machine.processors();
  for (size_t i = 1; i < processors.size(); ++i) {
    const topo::Relation relation = topo::relation_of(processors[0].place, processors[i].place);
    const bool known = std::any_of(found.begin(), found.end(), [relation](const RelationPair& pair) {
      return pair.relation == relation;
    });
    if (!known) found.push_back({relation, processors[0].number, processors[i].number});
  }
  std::sort(found.begin(), found.end(),
            [](const RelationPair& x, const RelationPair& y) { return x.relation < y.relation; });
  return found;
}

Status nothing_to_measure() {
  return fail(MPI_ERR_OTHER,
              "there is nothing to measure: this process may use one processor only, so two ranks would "
              "share it. Likely cause: an affinity mask or a container's limit");
}

std::vector<topo::Relation> relations_of(const topo::Machine& machine) {
  std::vector<topo::Relation> found{topo::Relation::self};
  for (const RelationPair& pair : pairs_of(machine)) found.push_back(pair.relation);
  return found;
}

p2p::TransportLimits limits_of_pair(topo::Relation relation, uint32_t ranks) {
  if (relation == topo::Relation::network) return {transport::kNetworkPacketBytesMax, 0};
  const shm::SegmentPlan plan = shm::SegmentPlan::for_ranks(ranks);
  return {shm::payload_bytes_max(plan.ring_lines), shm::run_bytes_max(plan.buffer_count, plan.buffer_bytes)};
}

p2p::PairProtocol protocol_of_pair(topo::Relation relation, uint32_t ranks) {
  return p2p::protocol_for(relation, limits_of_pair(relation, ranks));
}

const char* way_name(p2p::Protocol protocol, topo::Relation relation) {
  if (relation != topo::Relation::network) return p2p::protocol_name(protocol);
  return protocol == p2p::Protocol::inlined || protocol == p2p::Protocol::eager ? "packet" : "buffer";
}

}  // namespace hearth::tools
