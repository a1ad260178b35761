// The other ranks of this machine under a launcher of another library, which tells nobody of deaths: who
// waits looks itself whether they still run. One that is gone without MPI_Finalize has died. Where the
// program has asked for errors to be returned, all ranks of the machine are told (shm/liveness.h), or, in a
// job on several machines, where each process finds out for itself, this one is (abi/lost_processes.h).
// Otherwise this ends the job, unless the launcher does so first.
//
// Only processes that share the numbers of processes can be looked after; where a rank has others of its own
// (containers), its launcher has to. Under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "launch/bootstrap.h"

namespace hearth::abi {

class Neighbours {
 public:
  explicit Neighbours(const launch::Bootstrap& job);
  /// Opens a pidfd of each that has told its PID already, so that a PID used again is not taken for it.
  void open();
  /// Looks at the next few, not more often than every tenth of a second.
  void look();

 private:
  struct Neighbour {
    int rank;
    bool gone;    // at the last look
    bool buried;  // known to have died
  };
  void look_at(Neighbour& neighbour);

  std::vector<Neighbour> others_;
  size_t next_ = 0;
  uint64_t looked_ns_ = 0;
};

}  // namespace hearth::abi
