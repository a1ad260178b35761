// The file of --place-by: the bytes that each rank sends to each other rank (docs/guide/binding.md has the
// format), and the assignment of bindings by it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "launch/placement.h"
#include "topo/machine.h"
#include "topo/mapping.h"

namespace hearth::launch {

/// Parses a matrix for `ranks` ranks from the text of a file; `name` is for messages.
Status read_traffic(const std::string& name, const std::string& text, int ranks,
                    std::vector<topo::Traffic>& traffic);

/// Sum of distance times bytes, before and after.
struct PlacementGain {
  int64_t before = 0;
  int64_t after = 0;
};

/// Permutes the bindings of the ranks if that lowers the cost of the traffic; never raises it.
PlacementGain place_by(const topo::Machine& machine, const std::vector<topo::Traffic>& traffic,
                       std::vector<Binding>& bindings);

}  // namespace hearth::launch
