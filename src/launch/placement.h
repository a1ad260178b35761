// Determines the processors that each rank may use, from the machine, the number of ranks and the user's
// request. Pure computation; called by the launcher before it starts any process.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "shm/layout.h"
#include "topo/machine.h"

namespace hearth::launch {

/// Levels of the machine, small to large; ranks are bound to objects of a level and distributed over them.
enum class Level { automatic, none, hwthread, core, l2, l3, numa, package, machine };

/// The user's request; launch/placement_words.h parses it from the command line.
struct PlacementRequest {
  Level bind = Level::automatic;
  Level map = Level::automatic;
  bool spread = false;       // --map-by spread: each rank as far as possible from the previous ones
  bool by_number = false;    // --bind-to rr: one processor each, in the system's order
  int cores_per_rank = 1;    // --map-by LEVEL:PE=N, --bind-to core:N
  int ranks_per_object = 0;  // --map-by ppr:N:LEVEL; 0: distributed round-robin
  std::vector<std::vector<int>> processor_sets = {};  // --bind-to user:...: one set per rank in turn
  std::vector<int> only_processors = {};              // --map-by pe-list=..., --cpu-set; empty: all
  bool oversubscribe = false;                         // more ranks than processors without a warning
  bool forbid_oversubscribe = false;                  // more ranks than processors are an error
};

/// The binding of one rank.
struct Binding {
  std::vector<int> processors;  // empty: not bound
  shm::RankPlace place = {-1, -1, -1, -1, -1, -1};
  shm::RankMemory memory = {-1, -1, -1, -1, -1, -1, -1, 0};
  std::string description;  // for --report-bindings
};

/// Fails if the request names processors that the machine does not have.
Status check_processors(const topo::Machine& machine, const PlacementRequest& request);

/// Bindings for all ranks. `processors_to_share` is the number of processors whose time the job may use; if
/// there are more ranks, none is bound unless the request asks for it.
std::vector<Binding> bind_ranks(const topo::Machine& machine, const PlacementRequest& request, int ranks,
                                int processors_to_share);

/// Number of objects of a level that contain a usable processor, for ppr without -n.
int object_count(const topo::Machine& machine, Level level);

}  // namespace hearth::launch
