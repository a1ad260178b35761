#include "p2p/request_table.h"

#include <new>

#include "mpi.h"

namespace hearth::p2p {

RequestTable::RequestTable(PeerIndex self, PostedQueue& posted, const FatalErrors& errors)
    : self_(self), posted_(posted), errors_(errors), completed_send_(pool_.create(RequestKind::completed)) {
  if (completed_send_ == nullptr) errors_.out_of_memory("the first request", sizeof(Request), self_);
  completed_send_->complete = true;
  // A process that is out of memory can still begin a few collectives that wait.
  constexpr size_t kPolledReserved = 16;
  polled_.reserve(kPolledReserved);
  unsent_.reserve(kPolledReserved);
}

Status RequestTable::too_many() const {
  return fail(MPI_ERR_NO_MEM, "no memory for another request: %zu are pending. Remedy: complete some",
              pool_.live());
}

void RequestTable::destroy(Request* request) {
  if (request == completed_send_) return;
  // A receive that was completed because of a failure may still be posted (failure_handler.cpp).
  if (__builtin_expect(request->queued, 0)) posted_.remove(*request);
  if (request->hooks != nullptr && request->hooks->release != nullptr) {
    // The free function of a generalized request may fail, but the outcome has already been returned.
    static_cast<void>(request->hooks->release(*request));
  }
  if (request->type != nullptr) datatype::release(*request->type);
  if (request->comm != nullptr) objects::release(*request->comm);
  pool_.destroy(request);
}

void RequestTable::release(Request* request) {
  if (request->complete || !request->active) {
    destroy(request);
  } else {
    request->handle_freed = true;
  }
}

void RequestTable::end_receive(Request& request, PeerIndex from, Status outcome) {
  request.from = from;
  request.received_tag = request.key.tag;
  request.received_bytes = 0;
  complete(request, outcome);
}

Request* RequestTable::find_send(uint32_t cookie, PeerIndex from) const {
  Request* request = pool_.at(cookie & ((uint32_t{1} << kSlotBits) - 1));
  const bool names_it = request != nullptr && request->kind == RequestKind::send && !request->complete &&
                        request->epoch != 0 && request->key.peer == from && cookie_of(*request) == cookie;
  return names_it ? request : nullptr;
}

// Groups.

void RequestTable::entrust(Request* request, MessageGroup& group) {
  if (request->complete) {
    note_outcome(group, *request);
    destroy(request);
    return;
  }
  request->group = &group;
  request->handle_freed = true;
  ++group.under_way;
}

void RequestTable::destroy_complete(Request& request) {
  if (request.group != nullptr) leave_group(request);
  destroy(&request);
}

void RequestTable::leave_group(Request& request) {
  MessageGroup& group = *request.group;
  note_outcome(group, request);
  --group.under_way;
  if (group.under_way == group.wake_at && group.owner != nullptr) {
    group.owner->next = ready_;
    ready_ = group.owner;
  }
}

// Without the message, the process at its other end would wait for ever. The failure handler deals with it
// later, because a list of requests may be iterated now.
void RequestTable::note_error(MessageGroup& group, const Request& request) try {
  if (group.first_error.ok()) group.first_error = request.outcome;
  if (request.outcome.error_class() == MPI_ERR_NO_MEM) unsent_.push_back(request.key);
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the list of messages without memory");
}

// Progress.

bool RequestTable::advance_ready() try {
  while (ready_ != nullptr) {
    Request* request = ready_;
    ready_ = request->next;
    request->hooks->advance(*request);  // may have destroyed the request
  }
  return true;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("a step of an operation that consists of several messages");
}

void RequestTable::poll(Polled& work) try { polled_.push_back(&work); } catch (const std::bad_alloc&) {
  errors_.out_of_memory("the list of operations in shared memory");
}

bool RequestTable::advance_polled() try {
  bool moved = false;
  for (size_t i = 0; i < polled_.size();) {
    if (polled_[i]->advance()) {
      polled_.erase(polled_.begin() + static_cast<std::ptrdiff_t>(i));
      moved = true;
    } else {
      ++i;
    }
  }
  return moved;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("a step of a collective operation or of a window's messages");
}

bool RequestTable::advance_hooked() try {
  bool moved = false;
  Request** place = &hooked_;
  while (*place != nullptr) {
    Request* request = *place;
    request->hooks->advance(*request);
    if (request->complete) {
      *place = request->next;
      moved = true;
      if (request->handle_freed) destroy(request);
    } else {
      place = &request->next;
    }
  }
  return moved;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("a step of a request that is polled");
}

Status RequestTable::truncation(const Request& request, PeerIndex from, int tag, int64_t bytes) const {
  const int64_t room = request.count * request.type->size;
  return fail(MPI_ERR_TRUNCATE,
              "the message of %lld bytes that process %d sent (tag %d) is longer than the receive of process "
              "%d: %lld "
              "elements of %lld bytes = %lld bytes; the rest is lost. Remedy: post a larger receive, or ask "
              "MPI_Probe for the length first",
              static_cast<long long>(bytes), from, tag, self_, static_cast<long long>(request.count),
              static_cast<long long>(request.type->size), static_cast<long long>(room));
}

}  // namespace hearth::p2p
