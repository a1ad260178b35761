// Collective calls on files: a process that fails in a local step still takes part in the collectives of the
// call, so that no process waits for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "objects/comm.h"

namespace hearth::io {

using objects::Comm;

/// A failure with its message, which later failures of the thread replace elsewhere. Needs no memory.
class KeptFailure {
 public:
  explicit KeptFailure(Status status);
  /// The same failure, with its message as the thread's last one. Success if it was none.
  Status again() const;

 private:
  static constexpr size_t kTextBytes = 480;  // all that fail() stores
  Status status_;
  char text_[kTextBytes];
};

/// Collective: the least and the greatest of the values of all processes.
Status min_and_max(Comm& comm, int64_t& least, int64_t& greatest);

/// Collective: fails on all processes if `own` is a failure on one of them. A process that fails returns its
/// own failure. No process returns before all have called.
Status agree(Comm& comm, Status own);

}  // namespace hearth::io
