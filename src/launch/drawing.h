// The machine as --report-bindings draws it: packages, memory nodes, third-level caches and cores, and which
// rank sits where. Pure computation.
#pragma once

#include <span>
#include <string>

#include "launch/placement.h"
#include "topo/machine.h"

namespace hearth::launch {

/// Lines of at most 100 columns, for one seat per rank. Each bracket is a core with the ranks that may run
/// there; "0/1" where its hardware threads have different ones.
std::string draw(const topo::Machine& machine, std::span<const Seat> seats);

}  // namespace hearth::launch
