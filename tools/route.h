// The protocol of a message, computed without running a job: for the last column of `hearth bench` and for
// `hearth info --explain`. Called by the tools, in one thread.
#pragma once

#include <string>
#include <vector>

#include "p2p/protocol.h"
#include "topo/machine.h"
#include "topo/relation.h"
#include "tune/profile.h"

namespace hearth::tools {

/// Finds the profile that mpiexec would use here and applies its values in this process. Values that the
/// environment passes, as to a rank, have precedence.
tune::ProfileSearch use_profile(const topo::Machine& machine);

/// The relation of two ranks that are bound to these processors; `unknown` if the machine does not report it.
topo::Relation relation_of_processors(const topo::Machine& machine, int a, int b);

/// Two processors with which a relation can be measured.
struct RelationPair {
  topo::Relation relation;
  int a, b;
};
/// One pair for each relation between two processors of this machine, closest first.
std::vector<RelationPair> pairs_of(const topo::Machine& machine);
/// The error if there is no pair.
Status nothing_to_measure();
/// The same relations, after `self`.
std::vector<topo::Relation> relations_of(const topo::Machine& machine);

/// The thresholds of a pair in a job of this number of ranks.
p2p::PairProtocol protocol_of_pair(topo::Relation relation, uint32_t ranks);
p2p::TransportLimits limits_of_pair(topo::Relation relation, uint32_t ranks);
/// The name for readers: between machines, inline and eager messages are one packet, and longer messages are
/// one transfer of the whole buffer.
const char* way_name(p2p::Protocol protocol, topo::Relation relation);

}  // namespace hearth::tools
