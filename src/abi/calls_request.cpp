// MPI 5.0 sections 3.7 and 3.9: completing, freeing, cancelling and starting requests.
//
// MPI_Waitall and the other array calls handle the requests in order. They store the error of a single
// request in its status and return MPI_ERR_IN_STATUS.
#include <vector>

#include "abi/error.h"
#include "abi/handle.h"
#include "abi/inline_path.h"
#include "abi/requests.h"
#include "abi/status.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::mpi {
namespace {

using p2p::Request;

// False for null and inactive requests, which need no wait.
bool is_live(const Request* request) {
  return request != nullptr && request->active;
}

Status find_request(const MPI_Request* handles, int index, Request*& request) {
  if (abi::take(&handles[index], request)) return {};
  return fail(
      MPI_ERR_REQUEST,
      "array_of_requests[%d] is not a request. Likely cause: it was never started, or was freed already",
      index);
}

Status check_all(int count, const MPI_Request* handles) {
  Request* request;
  for (int i = 0; i < count; ++i) HEARTH_TRY(find_request(handles, i, request));
  return {};
}

// Pre: check_all() has passed. nullptr for a null handle, and for the second copy of a handle whose request
// was freed through the first copy.
Request* request_at(const MPI_Request* handles, int index) {
  auto* request = reinterpret_cast<Request*>(handles[index]);
  return handles[index] != MPI_REQUEST_NULL && request->alive == Pool<Request>::kAlive ? request : nullptr;
}

// Takes the outcome of a complete request and writes its handle back.
Status take_at(MPI_Request* handles, int index, MPI_Status* status) {
  Request* request = request_at(handles, index);
  const Status outcome = abi::take_outcome(request, status);
  if (request == nullptr) handles[index] = MPI_REQUEST_NULL;
  return outcome;
}

// Index of the first complete active request; -1 if there is none. `any_live`: whether there is an active
// request to wait for.
int first_complete(int count, const MPI_Request* handles, bool& any_live) {
  any_live = false;
  for (int i = 0; i < count; ++i) {
    const Request* request = request_at(handles, i);
    if (!is_live(request)) continue;
    any_live = true;
    if (request->complete) return i;
  }
  return -1;
}

// Polls for a call that tests whether all requests are complete. A single poll handles a bounded number of
// packets: one poll per call would make n requests take O(n) calls that each read the array, O(n^2) in all.
// So the call polls again while packets arrive, at most once per request, and resumes at the first request
// that was incomplete.
bool progress_all(int count, const MPI_Request* handles) {
  int next = 0;
  const auto all_complete = [&] {
    for (; next < count; ++next) {
      const Request* request = request_at(handles, next);
      if (is_live(request) && !request->complete) return false;
    }
    return true;
  };
  bool complete = all_complete();
  bool moved = true;
  for (int polls = 0; !complete && moved && polls < count; ++polls) {
    moved = p2p::engine().progress_once();
    complete = all_complete();
  }
  return complete;
}

// For wait diagnostics.
void describe_from(int first, int count, const MPI_Request* handles, p2p::WaitDiagnostics& note) {
  for (int i = first; i < count; ++i) {
    const Request* request = request_at(handles, i);
    if (is_live(request) && !request->complete) note.request(*request);
  }
}
void describe_any(int count, const MPI_Request* handles, p2p::WaitDiagnostics& note) {
  note.any_suffices();
  describe_from(0, count, handles, note);
}

// The outcomes of several requests, of which the array call reports one code.
class Outcomes {
 public:
  explicit Outcomes(MPI_Status* statuses) : statuses_(statuses) {}

  MPI_Status* place(int position) const { return statuses_ == nullptr ? nullptr : &statuses_[position]; }

  void add(int position, Status outcome) {
    const int code = abi::error_code_for(outcome);
    if (!outcome.ok() && !failed_) {
      failed_ = true;
      first_ = position;
      first_code_ = code;
    }
    codes_.push_back(code);
    positions_.push_back(position);
  }

  // MPI_ERROR fields are valid only if the call returns MPI_ERR_IN_STATUS (MPI 5.0 section 3.7.5).
  Status finish() const {
    if (!failed_) return {};
    if (statuses_ != nullptr) {
      for (size_t i = 0; i < codes_.size(); ++i) statuses_[positions_[i]].MPI_ERROR = codes_[i];
    }
    char text[MPI_MAX_ERROR_STRING];
    abi::text_of_code(first_code_, text);
    return fail(MPI_ERR_IN_STATUS, "request %d failed (the statuses name all that did): %s", first_, text);
  }

 private:
  MPI_Status* statuses_;
  bool failed_ = false;
  int first_ = 0;
  int first_code_ = MPI_SUCCESS;
  std::vector<int> codes_;
  std::vector<int> positions_;
};

// Takes all complete requests; returns their number.
int take_complete(int count, MPI_Request* handles, int* indices, Outcomes& outcomes) {
  int taken = 0;
  for (int i = 0; i < count; ++i) {
    const Request* request = request_at(handles, i);
    if (!is_live(request) || !request->complete) continue;
    indices[taken] = i;
    outcomes.add(taken, take_at(handles, i, outcomes.place(taken)));
    ++taken;
  }
  return taken;
}

}  // namespace

[[gnu::hot]] Status wait(Request*& request, MPI_Status* status) {
  return abi::wait_for(request, status);
}

[[gnu::hot]] Status test(Request*& request, int& flag, MPI_Status* status) {
  if (!is_live(request)) {
    flag = 1;
    abi::set_empty_status(status);
    return {};
  }
  if (!request->complete) p2p::engine().progress_once();
  flag = request->complete;
  return flag ? abi::take_outcome(request, status) : Status();
}

[[gnu::hot]] Status waitall(int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses) {
  HEARTH_TRY(check_all(count, array_of_requests));
  p2p::Engine& engine = p2p::engine();
  // Fast path without a list of outcomes: all requests succeed.
  Status first_failure;
  int next = 0;
  for (; next < count; ++next) {
    Request* request = request_at(array_of_requests, next);
    MPI_Status* status = array_of_statuses == nullptr ? nullptr : &array_of_statuses[next];
    if (__builtin_expect(request != nullptr, 1) && abi::inline_path::take(*request, status)) {
      array_of_requests[next] = MPI_REQUEST_NULL;
      continue;
    }
    if (!is_live(request)) {
      abi::set_empty_status(status);
      continue;
    }
    engine.await(*request,
                 [&](p2p::WaitDiagnostics& note) { describe_from(next, count, array_of_requests, note); });
    if (first_failure = take_at(array_of_requests, next, status); !first_failure.ok()) break;
  }
  if (__builtin_expect(next == count, 1)) return {};
  Outcomes outcomes(array_of_statuses);
  for (int i = 0; i < next; ++i) outcomes.add(i, {});
  outcomes.add(next++, first_failure);
  for (; next < count; ++next) {
    Request* request = request_at(array_of_requests, next);
    if (!is_live(request)) {
      abi::set_empty_status(outcomes.place(next));
      outcomes.add(next, {});
      continue;
    }
    engine.await(*request,
                 [&](p2p::WaitDiagnostics& note) { describe_from(next, count, array_of_requests, note); });
    outcomes.add(next, take_at(array_of_requests, next, outcomes.place(next)));
  }
  return outcomes.finish();
}

Status testall(int count, MPI_Request* array_of_requests, int& flag, MPI_Status* array_of_statuses) {
  HEARTH_TRY(check_all(count, array_of_requests));
  flag = progress_all(count, array_of_requests);
  return flag ? waitall(count, array_of_requests, array_of_statuses) : Status();
}

Status waitany(int count, MPI_Request* array_of_requests, int& indx, MPI_Status* status) {
  HEARTH_TRY(check_all(count, array_of_requests));
  bool any_live = false;
  int found = first_complete(count, array_of_requests, any_live);
  if (!any_live) {
    indx = MPI_UNDEFINED;
    abi::set_empty_status(status);
    return {};
  }
  if (found < 0) {
    p2p::engine().wait_until(
        [&] { return (found = first_complete(count, array_of_requests, any_live)) >= 0; },
        [&](p2p::WaitDiagnostics& note) { describe_any(count, array_of_requests, note); });
  }
  indx = found;
  return take_at(array_of_requests, found, status);
}

Status testany(int count, MPI_Request* array_of_requests, int& indx, int& flag, MPI_Status* status) {
  HEARTH_TRY(check_all(count, array_of_requests));
  bool any_live = false;
  int found = first_complete(count, array_of_requests, any_live);
  if (found < 0 && any_live) {
    p2p::engine().progress_once();
    found = first_complete(count, array_of_requests, any_live);
  }
  if (found >= 0) {
    flag = 1;
    indx = found;
    return take_at(array_of_requests, found, status);
  }
  flag = !any_live;
  indx = MPI_UNDEFINED;
  if (flag) abi::set_empty_status(status);
  return {};
}

Status waitsome(int incount, MPI_Request* array_of_requests, int& outcount, int* array_of_indices,
                MPI_Status* array_of_statuses) {
  HEARTH_TRY(check_all(incount, array_of_requests));
  bool any_live = false;
  const int found = first_complete(incount, array_of_requests, any_live);
  if (!any_live) {
    outcount = MPI_UNDEFINED;
    return {};
  }
  if (found < 0) {
    p2p::engine().wait_until(
        [&] { return first_complete(incount, array_of_requests, any_live) >= 0; },
        [&](p2p::WaitDiagnostics& note) { describe_any(incount, array_of_requests, note); });
  }
  Outcomes outcomes(array_of_statuses);
  outcount = take_complete(incount, array_of_requests, array_of_indices, outcomes);
  return outcomes.finish();
}

Status testsome(int incount, MPI_Request* array_of_requests, int& outcount, int* array_of_indices,
                MPI_Status* array_of_statuses) {
  HEARTH_TRY(check_all(incount, array_of_requests));
  bool any_live = false;
  if (first_complete(incount, array_of_requests, any_live) < 0 && any_live) p2p::engine().progress_once();
  if (!any_live) {
    outcount = MPI_UNDEFINED;
    return {};
  }
  Outcomes outcomes(array_of_statuses);
  outcount = take_complete(incount, array_of_requests, array_of_indices, outcomes);
  return outcomes.finish();
}

// Queries that keep the request (MPI 5.0 section 3.7.6).

Status request_get_status(Request* request, int& flag, MPI_Status* status) {
  flag = 1;
  if (!is_live(request)) {
    abi::set_empty_status(status);
    return {};
  }
  if (!request->complete) p2p::engine().progress_once();
  flag = request->complete;
  return flag ? abi::outcome_of(*request, status) : Status();
}

Status request_get_status_all(int count, const MPI_Request* array_of_requests, int& flag,
                              MPI_Status* array_of_statuses) {
  HEARTH_TRY(check_all(count, array_of_requests));
  flag = progress_all(count, array_of_requests);
  if (!flag) return {};
  Outcomes outcomes(array_of_statuses);
  for (int i = 0; i < count; ++i) {
    Request* request = request_at(array_of_requests, i);
    if (is_live(request)) {
      outcomes.add(i, abi::outcome_of(*request, outcomes.place(i)));
    } else {
      abi::set_empty_status(outcomes.place(i));
    }
  }
  return outcomes.finish();
}

Status request_get_status_any(int count, const MPI_Request* array_of_requests, int& indx, int& flag,
                              MPI_Status* status) {
  HEARTH_TRY(check_all(count, array_of_requests));
  p2p::engine().progress_once();
  bool any_live = false;
  const int found = first_complete(count, array_of_requests, any_live);
  flag = found >= 0 || !any_live;
  indx = found >= 0 ? found : MPI_UNDEFINED;
  if (found >= 0) return abi::outcome_of(*request_at(array_of_requests, found), status);
  if (flag) abi::set_empty_status(status);
  return {};
}

Status request_get_status_some(int incount, const MPI_Request* array_of_requests, int& outcount,
                               int* array_of_indices, MPI_Status* array_of_statuses) {
  HEARTH_TRY(check_all(incount, array_of_requests));
  p2p::engine().progress_once();
  outcount = 0;
  bool any_live = false;
  Outcomes outcomes(array_of_statuses);
  for (int i = 0; i < incount; ++i) {
    Request* request = request_at(array_of_requests, i);
    if (!is_live(request)) continue;
    any_live = true;
    if (!request->complete) continue;
    array_of_indices[outcount] = i;
    outcomes.add(outcount, abi::outcome_of(*request, outcomes.place(outcount)));
    ++outcount;
  }
  if (!any_live) outcount = MPI_UNDEFINED;
  return outcomes.finish();
}

// Freeing, cancelling, starting.

Status request_free(Request*& request) {
  if (request == nullptr) {
    return fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL: there is nothing to free");
  }
  if (request->kind == p2p::RequestKind::collective && request->active) {
    return fail(
        MPI_ERR_REQUEST,
        "the request belongs to a collective operation under way, and such requests cannot be freed (MPI "
        "5.0 sections 6.12 and 6.13). Remedy: complete it with MPI_Wait or MPI_Test");
  }
  Status released;
  if (request != p2p::engine().requests().completed_send() && (request->complete || !request->active)) {
    released = abi::release_state(*request);
  }
  p2p::engine().requests().release(request);
  request = nullptr;
  return released;
}

Status cancel(Request*& request) {
  if (request == nullptr) {
    return fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL: there is nothing to cancel");
  }
  if (!request->active) return {};
  if (request->hooks != nullptr && request->hooks->cancel != nullptr) return request->hooks->cancel(*request);
  if (request->complete && !request->queued) return {};  // FailureHandler::stall_receives()
  // A send has started already, so MPI lets it complete (section 3.8.4).
  p2p::engine().cancel(*request);
  return {};
}

namespace {

Status start_inactive(Request& request) {
  if (request.key.peer == MPI_PROC_NULL) {
    HEARTH_TRY(abi::without_peer(*request.comm));
    request.active = request.complete = true;
    return {};
  }
  if (request.hooks != nullptr && request.hooks->start != nullptr) return request.hooks->start(request);
  p2p::engine().start(request);
  return {};
}

}  // namespace

Status start(Request*& request) {
  if (request == nullptr || !request->persistent) {
    return fail(
        MPI_ERR_REQUEST,
        "the request is not persistent. Remedy: only requests made by the _init calls can be started");
  }
  if (request->active) {
    return fail(MPI_ERR_REQUEST,
                "the request is active already. Remedy: complete it (MPI_Wait) before starting it "
                "again");
  }
  const Status status = start_inactive(*request);
  // The arguments name no communicator: the error belongs to the request's communicator.
  return status.ok() || request->comm == nullptr ? status : abi::blame(*request->comm, status);
}

Status startall(int count, MPI_Request* array_of_requests) {
  HEARTH_TRY(check_all(count, array_of_requests));
  for (int i = 0; i < count; ++i) {
    Request* request = request_at(array_of_requests, i);
    HEARTH_TRY(start(request));
  }
  return {};
}

}  // namespace hearth::mpi
