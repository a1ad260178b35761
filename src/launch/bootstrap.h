// A rank's first step: finding out who it is. Called once by MPI_Init, before anything else of the library.
//
//   our own mpiexec             bootstrap_mpiexec   files are inherited, the rank is in the environment
//   launchers with PMI or PMIx  bootstrap_launcher  ask their server, then share memory (bootstrap_node)
//   none                                            a job of one rank
//
// mpiexec gives each rank these variables:
//   HEARTH_SEGMENT=descriptor:inode:pid   the job's segment: the inherited descriptor, the file behind it,
//   and
//                                         the launcher, which holds it open under the same number
//   HEARTH_ARENA=descriptor:inode:pid     the same of the arena, where the job has one
//   HEARTH_BOARD=descriptor:inode:pid     the same of what ranks count into, where --profile or --trace is
//   given HEARTH_RANK=number
// A program that a rank starts inherits the variables, but it is not that rank: it runs alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "launch/bootstrap_launcher.h"
#include "shm/arena.h"
#include "shm/segment.h"

namespace hearth::launch {

struct Bootstrap {
  int rank = 0;
  int size = 1;
  int app = 0;               // which program of the command line: MPI_APPNUM
  bool singleton = false;    // started without a launcher
  std::vector<int> node_of;  // the machine of each rank; they are numbered from 0
  shm::Segment segment;      // of the ranks of this machine
  int place = 0;             // of this rank in the segment
  // On several machines only: the place of each rank, -1 for one elsewhere; the names of the machines; and a
  // word that nobody but the ranks knows.
  std::vector<int> place_of;
  std::vector<std::string> hosts;
  uint64_t secret = 0;
  shm::Arena arena;      // of the same; not usable where it cannot be had
  os::Descriptor board;  // of what the ranks count into (src/profile); not open where nobody asked for it
  // Of another library, or null: carries words between ranks, and hears how this one ends. It is there after
  // an error too, once it could be reached.
  std::unique_ptr<ForeignLauncher> launcher;
};

/// Attaches to the job that this process was started for, or makes a job of one rank. An error where a
/// launcher's variables are there but cannot be used: never several jobs of one where one of several was
/// meant.
Status bootstrap(Bootstrap& result);

/// Begins what HEARTH_CHAOS asks of this rank, by the number that its launcher gave it; 0 where that is not
/// known yet.
void begin_chaos();

}  // namespace hearth::launch
