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

/// What the user asked for: launch/placement_words.h reads it from the command line.
struct PlacementRequest {
  Level bind = Level::automatic;
  Level map = Level::automatic;
  bool spread = false;       // --map-by spread: each rank as far as can be from those before it
  bool by_number = false;    // --bind-to rr: one processor each, in the system's own order
  int cores_per_rank = 1;    // --map-by LEVEL:PE=N, --bind-to core:N
  int ranks_per_object = 0;  // --map-by ppr:N:LEVEL; 0: dealt out one by one
  std::vector<std::vector<int>> processor_sets = {};  // --bind-to user:...: one set for each rank in turn
  std::vector<int> only_processors = {};              // --map-by pe-list=..., --cpu-set; empty: all
  bool oversubscribe = false;                         // more ranks than processors without a note
  bool forbid_oversubscribe = false;                  // and not at all
};

/// Where one rank is seated.
struct Seat {
  std::vector<int> processors;  // empty: not bound
  shm::RankPlace place = {-1, -1, -1, -1, -1, -1};
  shm::RankMemory memory = {-1, -1, -1, -1, -1, -1, -1, 0};
  std::string description;  // for --report-bindings
};

/// Whether the processors that the request names are among the machine's.
Status check_processors(const topo::Machine& machine, const PlacementRequest& request);

/// Seats for all ranks. `processors_to_share` is how many processors' time there is; with more ranks than
/// that nothing is bound unless the request says so.
std::vector<Seat> seat_ranks(const topo::Machine& machine, const PlacementRequest& request, int ranks,
                             int processors_to_share);

/// Objects of a level that hold processors of ours, for ppr without -n.
int object_count(const topo::Machine& machine, Level level);

}  // namespace hearth::launch
