// Requests from where they are made to where they are completed or freed: their buffers, which nobody may
// touch in between (MPI 5.0 sections 3.7.2 and 3.9), and what is left of them at the end.
//
// A request is known by its handle; several sends that were over at once share one, and are told apart by the
// variable that holds it. Under the check library's lock.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "check/messages.h"
#include "check/operation.h"

namespace hearth::check {

struct Pending {
  Operation operation;
  const MPI_Request* variable = nullptr;
  bool persistent = false;
  bool active = false;
  bool ambiguous = false;  // which of several it is was a guess: no word about its buffer
  uint64_t checksum = 0;   // of what is sent; 0: not known
  PostedPointer posted;
};
using PendingPointer = std::shared_ptr<Pending>;

class Requests {
 public:
  Requests(Report& report, Messages& messages) : report_(report), messages_(messages) {}

  /// Before a call: its buffers against each other and against those of pending operations.
  void look_at(const Operation& operation);
  /// Before a non-blocking call: what is sent is as it is now.
  PendingPointer make(Operation operation);
  /// Behind it.
  void add(MPI_Request handle, const MPI_Request* variable, const PendingPointer& pending);

  /// Before MPI_Start.
  void start(MPI_Request handle);
  /// Completed: `status` of the receive, if it was one.
  void complete(MPI_Request handle, const MPI_Request* variable, const MPI_Status& status);
  /// Before MPI_Request_free.
  void free(MPI_Request handle, const MPI_Request* variable, uint32_t site);
  /// At the end: what was never completed or freed.
  void tell_left();

 private:
  struct Interval {
    uintptr_t last;
    Pending* pending;
    bool written;  // by the operation
  };
  PendingPointer find(MPI_Request handle, const MPI_Request* variable);
  void drop(MPI_Request handle, const PendingPointer& pending);
  void activate(Pending& pending);
  void deactivate(Pending& pending);
  void begin_messages(Pending& pending);
  void look_for_overlap(const Operation& operation, const Buffer& buffer, bool writes);
  void tell_overlap(const Operation& operation, const Buffer& buffer, bool writes, const Operation& other,
                    bool other_writes);

  Report& report_;
  Messages& messages_;
  std::unordered_map<MPI_Request, std::vector<PendingPointer>> pending_;
  std::multimap<uintptr_t, Interval> intervals_;
  uintptr_t longest_ = 0;
};

}  // namespace hearth::check
