#include "abi/requests.h"

#include <cstdlib>

#include "abi/error.h"
#include "abi/handle.h"
#include "abi/status.h"
#include "mpi-ext.h"
#include "objects/lifetime.h"

namespace hearth::abi {

Status without_peer(const objects::Comm& comm) {
  return comm.failure != MPIX_ERR_REVOKED ? Status() : p2p::engine().failures().failure_of(comm);
}

datatype::Type& byte_type() {
  return *find<datatype::Type>(MPI_BYTE);
}

Status receive_from_nobody(p2p::Request*& request) {
  request = p2p::engine().requests().create(p2p::RequestKind::receive);
  if (request == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  request->complete = true;
  request->from = MPI_PROC_NULL;
  request->received_tag = MPI_ANY_TAG;
  return {};
}

void fill_status(const p2p::Request& request, MPI_Status* status) {
  if (status == nullptr) return;
  int source = MPI_ANY_SOURCE;
  if (request.kind == p2p::RequestKind::receive && !request.cancelled) {
    source = request.from == MPI_PROC_NULL || request.comm == nullptr ? request.from
                                                                      : request.comm->rank_of(request.from);
  }
  const bool receive = request.kind == p2p::RequestKind::receive;
  set_status(status, source, receive ? request.received_tag : MPI_ANY_TAG,
             receive ? request.received_bytes : 0, request.cancelled);
}

namespace {

bool is_stalled(const p2p::Request& request) {
  return request.kind == p2p::RequestKind::receive && request.queued;
}

}  // namespace

Status outcome_of(p2p::Request& request, MPI_Status* status) {
  if (request.hooks != nullptr && request.hooks->query != nullptr) {
    MPI_Status own;
    MPI_Status* filled = status != nullptr ? status : &own;
    set_status(filled, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
    return request.hooks->query(request, *filled);
  }
  fill_status(request, status);
  if (__builtin_expect(request.outcome.ok(), 1)) return request.outcome;
  // A stalled receive stays pending: see FailureHandler::stall_receives().
  if (is_stalled(request)) request.complete = false;
  return p2p::engine().failures().reworded(request);
}

Status release_state(p2p::Request& request) {
  const p2p::RequestHooks* hooks = request.hooks;
  request.hooks = nullptr;
  return hooks != nullptr && hooks->release != nullptr ? hooks->release(request) : Status();
}

Status take_outcome(p2p::Request*& request, MPI_Status* status) {
  p2p::Request* taken = request;
  Status outcome = outcome_of(*taken, status);
  if (__builtin_expect(!taken->complete, 0)) {
    // The request stays unchanged.
  } else if (taken->persistent) {
    taken->active = false;
  } else if (const Status released = release_state(*taken); !released.ok()) {
    // Of the errors of a generalized request's two callbacks, the later one is returned (MPI 5.0 section
    // 13.2).
    outcome = released;
  }
  if (!outcome.ok() && taken->comm != nullptr) outcome = blame(*taken->comm, outcome);
  if (!taken->persistent && taken->complete) {
    p2p::engine().requests().destroy(taken);
    request = nullptr;
  }
  return outcome;
}

Status wait_for(p2p::Request*& request, MPI_Status* status) {
  if (request == nullptr || !request->active) {
    set_empty_status(status);
    return {};
  }
  p2p::engine().await(*request);
  return take_outcome(request, status);
}

void abandon(p2p::Request*& request) {
  p2p::Engine& engine = p2p::engine();
  engine.cancel(*request);
  engine.requests().release(request);
  request = nullptr;
}

namespace {

// The two halves of MPI_Isendrecv.
struct Pair {
  p2p::Request* receiving;
  p2p::Request* sending;
  void* copy;
};

const p2p::RequestHooks pair_hooks = {
    .advance =
        [](p2p::Request& request) {
          const Pair& pair = *static_cast<Pair*>(request.state);
          request.complete = pair.receiving->complete && pair.sending->complete;
        },
    .start = nullptr,
    .query =
        [](p2p::Request& request, MPI_Status& status) {
          const Pair& pair = *static_cast<Pair*>(request.state);
          fill_status(*pair.receiving, &status);
          return pair.receiving->outcome.ok() ? pair.sending->outcome : pair.receiving->outcome;
        },
    .cancel = nullptr,
    .release =
        [](p2p::Request& request) {
          Pair* pair = static_cast<Pair*>(request.state);
          p2p::engine().requests().destroy(pair->receiving);
          p2p::engine().requests().destroy(pair->sending);
          std::free(pair->copy);
          delete pair;
          return Status();
        },
};

}  // namespace

Status pair_up(p2p::Request* receiving, p2p::Request* sending, void* copy, p2p::Request*& request) {
  Pair* const pair = new (std::nothrow) Pair{receiving, sending, copy};
  request = pair == nullptr ? nullptr : p2p::engine().requests().create(p2p::RequestKind::generalized);
  if (request == nullptr) {
    delete pair;
    abandon(receiving);
    p2p::engine().requests().release(sending);
    return fail(MPI_ERR_NO_MEM, "no memory for a request");
  }
  request->hooks = &pair_hooks;
  request->state = pair;
  if (receiving->comm != nullptr) belong_to(request, *receiving->comm);
  p2p::engine().requests().add_hooked(*request);
  return {};
}

}  // namespace hearth::abi
