// One call of the program through libhearth_check.so, which mpiexec --check preloads: every MPI_X of it makes
// a Visit, calls PMPI_X and returns what that returns (api/generator/checks.py writes them). The library
// itself knows nothing of this, so that without --check a call is what it is without this folder.
//
// From any thread; calls that callbacks of the user make inside of another call only go into the ledger of
// objects.
#pragma once

#include <vector>

#include "check/arguments.h"

namespace hearth::check {

struct VisitState;

class Visit {
 public:
  /// `words`: the arguments, one word each.
  Visit(Call call, const uint64_t* words, const void* return_address);
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  /// Behind the call; its result.
  int end(int code);
  /// A status of our own where the program ignores it.
  MPI_Status* status(MPI_Status* given) { return given != MPI_STATUS_IGNORE ? given : own_status_; }
  MPI_Status* statuses(MPI_Status* given, int count);
  /// Whether standard sends are to wait for their receives.
  bool strict() const;

 private:
  void begin_call();
  void begin_requests();
  void end_call(int code);
  void end_receive();
  void end_requests(int code);
  void end_objects();
  void note_threads();
  void record_objects(int code);

  Arguments call_;
  const void* return_address_;
  bool nested_;
  VisitState* state_ = nullptr;
  MPI_Status own_status_[1] = {};
  std::vector<MPI_Status> own_statuses_;
  MPI_Status* statuses_ = nullptr;
};

}  // namespace hearth::check
