// Draws the machine for --report-bindings: packages, memory nodes, third-level caches and cores, and the
// ranks bound to each. Pure computation.
#pragma once

#include <span>
#include <string>

#include "launch/placement.h"
#include "topo/machine.h"

namespace hearth::launch {

/// Lines of at most 100 columns; one binding per rank. Each bracket is a core with the ranks that may run
/// there; "0/1" if its hardware threads have different ranks.
std::string draw(const topo::Machine& machine, std::span<const Binding> bindings);

}  // namespace hearth::launch
