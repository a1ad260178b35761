// Requests from their creation to completion or release: the use of their buffers in between (MPI 5.0
// sections 3.7.2 and 3.9), and requests that are left at the end.
//
// A request is identified by its handle. Sends that complete immediately share one handle and are
// distinguished by the variable that holds it. Under the check library's lock.
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
  bool ambiguous = false;  // identified by a guess among several: its buffer is not checked
  uint64_t checksum = 0;   // of the sent data; 0: unknown
  PostedPointer posted;
};
using PendingPointer = std::shared_ptr<Pending>;

class Requests {
 public:
  Requests(Report& report, Messages& messages) : report_(report), messages_(messages) {}

  /// Before a call: checks its buffers against each other and against those of pending operations.
  void look_at(const Operation& operation);
  /// Before a non-blocking call: records the current contents of its send buffer.
  PendingPointer make(Operation operation);
  /// After that call.
  void add(MPI_Request handle, const MPI_Request* variable, const PendingPointer& pending);

  /// Before MPI_Start.
  void start(MPI_Request handle);
  /// The request is complete; `status` is the receive's, if it is one.
  void complete(MPI_Request handle, const MPI_Request* variable, const MPI_Status& status);
  /// After the first half of a split collective access of `file`, and before the second one.
  void begin_split(const Comm& file, const PendingPointer& pending);
  void end_split(const Comm& file);
  /// Before MPI_Request_free.
  void free(MPI_Request handle, const MPI_Request* variable, uint32_t site);
  /// At the end: reports requests that were never completed or freed.
  void tell_left();

 private:
  struct Interval {
    uintptr_t last;
    Pending* pending;
    bool written;  // the operation writes to it
  };
  PendingPointer find(MPI_Request handle, const MPI_Request* variable);
  void drop(MPI_Request handle, const PendingPointer& pending);
  void activate(Pending& pending);
  void deactivate(Pending& pending);
  void begin_messages(Pending& pending);
  /// `end`: what completes the operation; `section`: of the standard.
  void tell_if_changed(const Pending& pending, const char* end, const char* section);
  void look_for_overlap(const Operation& operation, const Buffer& buffer, bool writes);
  void tell_overlap(const Operation& operation, const Buffer& buffer, bool writes, const Operation& other,
                    bool other_writes);

  Report& report_;
  Messages& messages_;
  std::unordered_map<MPI_Request, std::vector<PendingPointer>> pending_;
  std::unordered_map<const Comm*, PendingPointer> splits_;  // by file, which has one at a time
  std::multimap<uintptr_t, Interval> intervals_;
  uintptr_t longest_ = 0;
};

}  // namespace hearth::check
