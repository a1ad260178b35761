// Which protocol a message takes, told without running a job: for the last column of `hearth bench` and for
// `hearth info --explain`. Called by the tools, in one thread.
#pragma once

#include <string>
#include <vector>

#include "p2p/protocol.h"
#include "topo/machine.h"
#include "topo/relation.h"
#include "tune/profile.h"

namespace hearth::tools {

/// Finds the profile that mpiexec would find here and puts its values in force in this process; values that
/// the environment hands over, as to a rank, stay in force instead.
tune::ProfileSearch use_profile(const topo::Machine& machine);

/// What lies between two ranks that are bound to these processors; unknown when the machine does not tell.
topo::Relation relation_of_processors(const topo::Machine& machine, int a, int b);

/// Two processors by which a relation can be measured.
struct RelationPair {
  topo::Relation relation;
  int a, b;
};
/// One pair for every relation that two processors of this machine have, nearest first.
std::vector<RelationPair> pairs_of(const topo::Machine& machine);
/// What to say where there is none.
Status nothing_to_measure();
/// The same relations, after `self`.
std::vector<topo::Relation> relations_of(const topo::Machine& machine);

/// The limits of a pair in a job of so many ranks.
p2p::PairProtocol protocol_of_pair(topo::Relation relation, uint32_t ranks);
p2p::TransportLimits limits_of_pair(topo::Relation relation, uint32_t ranks);
/// What people read: between machines lines are a packet, and what goes through cells elsewhere a whole
/// buffer.
const char* way_name(p2p::Protocol protocol, topo::Relation relation);

}  // namespace hearth::tools
