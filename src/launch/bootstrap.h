// A rank's first step: finding out who it is. Called once by MPI_Init, before anything else of the library.
//
// mpiexec gives each rank these variables:
//   HEARTH_SEGMENT=descriptor:inode:pid   the job's segment: the inherited descriptor, the file behind it,
//   and
//                                         the launcher, which holds it open under the same number
//   HEARTH_ARENA=descriptor:inode:pid     the same of the arena, where the job has one
//   HEARTH_RANK=number
// A program that a rank starts inherits the variables, but it is not that rank: it runs alone.
#pragma once

#include "base/status.h"
#include "shm/arena.h"
#include "shm/segment.h"

namespace hearth::launch {

struct Bootstrap {
  int rank = 0;
  int size = 1;
  int app = 0;             // which program of the command line: MPI_APPNUM
  bool singleton = false;  // started without mpiexec
  shm::Segment segment;
  shm::Arena arena;  // not usable where it cannot be had
};

/// Attaches to the job that this process was started for, or makes a job of one rank. An error where a
/// launcher's variables are there but cannot be used: never several jobs of one where one of several was
/// meant.
Status bootstrap(Bootstrap& result);

}  // namespace hearth::launch
