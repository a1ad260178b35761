// Which process gets which rank of a communicator with a topology: where the user allows it, ranks that are
// neighbours are put on processors that are near each other.
//
// How near is measured by those concerned, once for each pair, where each has processors to itself: a virtual
// machine may report what it likes. Otherwise what the machine reports counts, by a table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "abi/comm_making.h"
#include "base/status.h"
#include "objects/comm.h"
#include "topo/mapping.h"

namespace hearth::abi {

/// Collective: how far the processes of `comm` are apart, the same on all. With `reorder` 0 that does not
/// matter: all the same. The first call measures, in one round of coll/distances.h for each other process.
Status agree_on_distances(objects::Comm& comm, int reorder, topo::Distances& distances);
/// Local: what is known without asking others. After agree_on_distances() the same.
topo::Distances known_distances(const objects::Comm& comm);

/// The ranks that get the new ranks 0 to count - 1, in that order. The same on all ranks that pass the same.
/// Weights count as they are; without traffic, ranks stay what they are.
std::vector<int> arrange(int count, std::span<const topo::Traffic> traffic, const topo::Distances& distances);

/// A communicator of these ranks of `parent`; nullptr where the caller is not among them. No topology yet.
Status make_arranged(const objects::Comm& parent, Share share, const std::vector<int>& ranks,
                     objects::Comm*& comm);

}  // namespace hearth::abi
