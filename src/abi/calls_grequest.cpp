// MPI 5.0 section 13.2: generalized requests, operations that the application implements.
#include "abi/requests.h"
#include "base/inside.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {
namespace {

using p2p::Request;

struct Callbacks {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  void* extra_state;
};

Callbacks& callbacks_of(const Request& request) {
  return *static_cast<Callbacks*>(request.state);
}

Status outcome(int code) {
  return code == MPI_SUCCESS ? Status() : fail_with_code(code);
}

const p2p::RequestHooks generalized_hooks = {
    .advance = nullptr,
    .start = nullptr,
    .query =
        [](Request& request, MPI_Status& status) {
          const Callbacks& user = callbacks_of(request);
          return outcome(Inside::call_user([&] { return user.query(user.extra_state, &status); }));
        },
    .cancel =
        [](Request& request) {
          const Callbacks& user = callbacks_of(request);
          if (user.cancel == nullptr) return Status();
          return outcome(Inside::call_user([&] { return user.cancel(user.extra_state, request.complete); }));
        },
    .release =
        [](Request& request) {
          const Callbacks user = callbacks_of(request);
          delete &callbacks_of(request);
          if (user.free == nullptr) return Status();
          return outcome(Inside::call_user([&] { return user.free(user.extra_state); }));
        },
};

}  // namespace

Status grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                      MPI_Grequest_cancel_function* cancel_fn, void* extra_state, Request*& request) {
  if (query_fn == nullptr) return fail(MPI_ERR_ARG, "query_fn is a null pointer");
  auto* callbacks = new (std::nothrow) Callbacks{query_fn, free_fn, cancel_fn, extra_state};
  if (callbacks == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  request = p2p::engine().requests().create(p2p::RequestKind::generalized);
  if (request == nullptr) {
    delete callbacks;
    return fail(MPI_ERR_NO_MEM, "no memory for a request");
  }
  request->hooks = &generalized_hooks;
  request->state = callbacks;
  return {};
}

Status grequest_complete(Request* request) {
  if (request == nullptr || request->hooks != &generalized_hooks) {
    return fail(MPI_ERR_REQUEST, "the request was not made by MPI_Grequest_start");
  }
  if (request->complete) {
    return fail(MPI_ERR_REQUEST, "the request is complete already: MPI_Grequest_complete was called before");
  }
  // If the handle was freed before, this call runs the free function and returns its error.
  const Status released = request->handle_freed ? abi::release_state(*request) : Status();
  p2p::engine().finish(*request, {});
  return released;
}

}  // namespace hearth::mpi
