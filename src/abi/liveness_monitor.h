// Liveness monitor for the other ranks of this machine under another library's launcher, which does not
// report deaths: a waiting rank checks whether its peers still run. A peer that has ended without
// MPI_Finalize counts as dead. If the application returns errors, the death is published to all ranks of the
// machine (shm/liveness.h). In a job on several machines, each process detects deaths itself and records them
// locally (abi/lost_processes.h). If the application does not return errors, this process ends the job,
// unless the launcher does so first.
//
// Only ranks in one PID namespace can be monitored; ranks in containers depend on their launcher. Under the
// library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth::abi {

class LivenessMonitor {
 public:
  /// `size`: of the job.
  explicit LivenessMonitor(int size);
  /// Opens a pidfd of each peer that has published its PID, so that a reused PID is not mistaken for the
  /// peer.
  void open();
  /// Checks the next few peers, at most every 100 ms.
  void check();

 private:
  struct Monitored {
    int rank;
    bool gone;    // at the last check
    bool reaped;  // its death is recorded
  };
  void check_peer(Monitored& peer);

  std::vector<Monitored> others_;
  size_t next_ = 0;
  uint64_t checked_ns_ = 0;
};

}  // namespace hearth::abi
