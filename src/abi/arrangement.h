// Which process gets which rank of a communicator with a topology: where the user allows it, ranks that are
// neighbours are put on processors that are near each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "objects/comm.h"
#include "topo/mapping.h"

namespace hearth::abi {

/// Whether ranks of this communicator could be put into a better order at all. The same on all ranks.
bool can_arrange(const objects::Comm& comm);

/// The ranks of `comm` that get the new ranks 0 to count - 1, in that order. The same on all ranks that pass
/// the same. Weights count as they are; without traffic, ranks stay what they are.
std::vector<int> arrange(const objects::Comm& comm, int count, std::span<const topo::Traffic> traffic);

/// A communicator of these ranks of `parent`; nullptr where the caller is not among them. No topology yet.
Status make_arranged(const objects::Comm& parent, uint32_t context, const std::vector<int>& ranks,
                     objects::Comm*& comm);

}  // namespace hearth::abi
