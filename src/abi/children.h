// The jobs that this process has started by MPI_Comm_spawn, as the root of the call. Each is an mpiexec of
// its own, found beside this library, which starts and watches the ranks; a socket connects it to this
// process (launch/bootstrap_spawn.h). If this process ends, that mpiexec ends its job, unless the two jobs
// have disconnected.
//
// One object per process, in abi/runtime.h. Under the library's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/bootstrap_spawn.h"

namespace hearth::abi {

class Child {
 public:
  /// Starts an mpiexec that carries out the order. MPI_ERR_SPAWN if it cannot be started.
  static Status start(const launch::SpawnOrder& order, Child& child);

  int descriptor() const { return control_.number(); }
  /// Whether the job has ended before it was connected; `why` is then its report, as an MPI_ERR_SPAWN.
  bool has_failed(Status& why);
  void say(launch::SpawnWord word) const;
  /// Ends the connection to mpiexec; without `parted`, that ends the job.
  void close() { control_.reset(); }
  /// Whether mpiexec has ended and is reaped.
  bool is_over() const;

  uint32_t connection = 0;  // number of the bridge

 private:
  os::Descriptor control_;
  int pid_ = -1;
};

class Children {
 public:
  /// Called when the job is connected, over the bridge with this number.
  void add(Child child, uint32_t connection);
  /// Closes the connection to mpiexec, which ends the job unless `parted` was sent.
  void drop(Child child);
  /// Called when this process leaves the bridge: sends `parted`, after which the job is independent.
  void parted(uint32_t connection);
  void part_all();

 private:
  void reap();

  std::vector<Child> connected_;
  std::vector<Child> closed_;  // until mpiexec has ended
};

}  // namespace hearth::abi
