// The file of --place-by: how many bytes each rank sends to each other one (docs/guide/binding.md has the
// format), and seats given out by it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "launch/placement.h"
#include "topo/machine.h"
#include "topo/mapping.h"

namespace hearth::launch {

/// Reads a matrix for so many ranks from the text of a file; `name` is for messages.
Status read_traffic(const std::string& name, const std::string& text, int ranks,
                    std::vector<topo::Traffic>& traffic);

/// Distance times bytes, before and after.
struct PlacementGain {
  int64_t before = 0;
  int64_t after = 0;
};

/// Gives the same seats to other ranks where that makes the traffic cheaper; never dearer.
PlacementGain place_by(const topo::Machine& machine, const std::vector<topo::Traffic>& traffic,
                       std::vector<Seat>& seats);

}  // namespace hearth::launch
