// Which processors each rank may use: from the machine, the number of ranks and what the user asked for.
// Pure computation; called by the launcher before it starts anything.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "shm/layout.h"
#include "topo/machine.h"

namespace hearth::launch {

/// Parts of a machine, small to large; what ranks are bound to and dealt out over.
enum class Level { automatic, none, hwthread, core, l2, l3, numa, package, machine };

struct PlacementRequest {
  Level bind = Level::automatic;
  Level map = Level::automatic;
  int cores_per_rank = 1;    // --map-by LEVEL:PE=N, --bind-to core:N
  int ranks_per_object = 0;  // --map-by ppr:N:LEVEL; 0: dealt out one by one
};

/// The level that both dialects' names mean ("socket", "l3cache", "slot"...); false for an unknown name.
bool level_of_name(const std::string& name, Level& level);
const char* level_name(Level level);

/// Where one rank is seated.
struct Seat {
  std::vector<int> processors;  // empty: not bound
  shm::RankPlace place = {-1, -1, -1, -1, -1, -1};
  std::string description;  // for --report-bindings
};

/// Seats for all ranks. `processors_to_share` is how many processors' time there is; with more ranks than
/// that nothing is bound unless the request says so.
std::vector<Seat> seat_ranks(const topo::Machine& machine, const PlacementRequest& request, int ranks,
                             int processors_to_share);

/// Objects of a level that hold processors of ours, for ppr without -n.
int object_count(const topo::Machine& machine, Level level);

}  // namespace hearth::launch
