// The relation of two ranks: the closest hardware that they share. Computed by the library from the places
// that the launcher wrote into the segment, without a topology library.
#pragma once

#include "shm/layout.h"

namespace hearth::topo {

/// The smallest object that two ranks share, closest first. `unknown`: at least one of them is not bound.
/// `network`: they are on different machines, which relation_of() does not detect.
enum class Relation { self, smt, l2, l3, numa, package, machine, unknown, network };
constexpr int kRelations = 9;

/// The relation of two different ranks with these places.
Relation relation_of(const shm::RankPlace& a, const shm::RankPlace& b);

/// "l3", for reports and tables.
const char* relation_name(Relation relation);
/// Parses a relation's name; false if there is none of that name.
bool find_relation(const char* name, Relation& relation);

}  // namespace hearth::topo
