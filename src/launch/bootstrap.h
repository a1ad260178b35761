// A rank's first step: finding out its rank and its job. MPI_Init calls bootstrap() before anything else.
//
//   launcher                     module               how the rank joins
//   our own mpiexec              bootstrap_mpiexec    inherits descriptors, reads its rank in the environment
//   one that serves PMI or PMIx  bootstrap_launcher   asks the server, then shares memory (bootstrap_node)
//   none                                              creates a job of one rank
//
// mpiexec gives each rank these variables:
//   HEARTH_RANK=number
//   HEARTH_SEGMENT=descriptor:inode:pid   the job's segment: inherited descriptor, inode of its file, and the
//                                         launcher's pid; it holds the file open under the same number
//   HEARTH_ARENA=descriptor:inode:pid     the arena likewise, if the job has one
//   HEARTH_BOARD=descriptor:inode:pid     the file for the counters likewise, with --profile or --trace
//
// A program that a rank starts inherits the variables but is not that rank: it becomes a job of one rank.
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
  int app = 0;               // index of the program on the command line: MPI_APPNUM
  bool singleton = false;    // started without a launcher
  std::vector<int> node_of;  // machine of each rank, numbered from 0
  shm::Segment segment;      // of the ranks of this machine
  int place = 0;             // local rank: index of this rank in the segment
  // For several machines only: the local rank of each rank, -1 on other machines; the machines' names; a
  // random number that only the job's ranks know.
  std::vector<int> place_of;
  std::vector<std::string> hosts;
  uint64_t secret = 0;
  shm::Arena arena;      // of this machine's ranks; not usable if it could not be created
  os::Descriptor board;  // file for the counters (src/profile); not open unless requested
  // Connection to another library's launcher, or null. Exchanges data between ranks and reports how this rank
  // ends. Stays set if bootstrap() fails after connecting.
  std::unique_ptr<ForeignLauncher> launcher;
};

/// Attaches to the job that this process was started for, or creates a job of one rank. Fails if a launcher's
/// variables are set but unusable: otherwise each rank of a parallel job would run as a job of its own.
Status bootstrap(Bootstrap& result);

/// Starts the fault injection that HEARTH_CHAOS asks of this rank. The launcher's variables give the rank; it
/// is 0 if they do not give one.
void begin_chaos();

}  // namespace hearth::launch
