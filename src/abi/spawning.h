// MPI_Comm_spawn and MPI_Comm_spawn_multiple, and the child's half in MPI_Init. The root starts an mpiexec
// (abi/children.h) and accepts the connection of its ranks (abi/connecting.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "objects/comm.h"
#include "objects/info.h"

namespace hearth::abi {

bool is_true(const objects::Info* info, std::string_view key);

/// One command: its arguments, significant at the root.
struct SpawnRequest {
  const char* command;
  char** argv;  // ended by a null pointer; nullptr: none
  int ranks_max;
  const objects::Info* info;
};

/// Collective over `comm`. `codes`: an error code for each requested process, or nullptr
/// (MPI_ERRCODES_IGNORE).
Status spawn(objects::Comm& comm, int root, const std::vector<SpawnRequest>& requests,
             objects::Comm*& intercomm, int* codes);

/// MPI_Init of a process that was started by MPI_Comm_spawn: connects MPI_COMM_WORLD to the parents.
Status connect_to_parent();
/// The communicator with the parents; nullptr if there are none, or it is freed.
objects::Comm* parent_comm();
/// Called for each communicator that is freed.
void forget_parent(const objects::Comm& comm);

}  // namespace hearth::abi
