// Maps the ranks of a communicator with a topology to processes. If the user allows reordering, ranks that
// are neighbours in the topology are placed on nearby processors.
//
// If each rank has its own processors, distances are measured once per pair, because a virtual machine may
// report a wrong topology. Otherwise they are derived from the reported topology.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "abi/comm_making.h"
#include "base/status.h"
#include "objects/comm.h"
#include "topo/mapping.h"

namespace hearth::abi {

/// Collective: the distances between the processes of `comm`, equal on all ranks. With `reorder` 0 all
/// distances are equal. The first call measures, in one round of coll/distances.h for each other process.
Status agree_on_distances(objects::Comm& comm, int reorder, topo::Distances& distances);
/// Local: the distances that this process knows. After agree_on_distances(), the same distances.
topo::Distances known_distances(const objects::Comm& comm);

/// Returns the old rank of each of the new ranks 0 to count - 1. Equal arguments give equal results on all
/// ranks. Weights are used as given; without traffic, ranks keep their numbers.
std::vector<int> arrange(int count, std::span<const topo::Traffic> traffic, const topo::Distances& distances);

/// Makes a communicator of these ranks of `parent`, without a topology. `comm` stays unchanged if the caller
/// is not among them.
Status make_arranged(const objects::Comm& parent, OwnedAllocation owned, const std::vector<int>& ranks,
                     objects::Comm*& comm);

}  // namespace hearth::abi
