// How near two ranks are. Computed by the library from the places that the launcher wrote into the segment;
// no topology library is involved.
#pragma once

#include "shm/layout.h"

namespace hearth::topo {

/// The smallest thing that two ranks share, nearest first. `unknown`: at least one of them may run anywhere
/// on their machine. `network`: they are on different machines, which places do not tell.
enum class Relation { self, smt, l2, l3, numa, package, machine, unknown, network };
constexpr int kRelations = 9;

/// The relation of two different ranks with these places.
Relation relation_of(const shm::RankPlace& a, const shm::RankPlace& b);

/// "l3", for reports and tables.
const char* relation_name(Relation relation);
/// The relation of that name; false when none has it.
bool find_relation(const char* name, Relation& relation);

}  // namespace hearth::topo
