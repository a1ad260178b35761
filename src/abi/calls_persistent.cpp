// MPI 5.0 section 3.9: persistent sends and receives. MPI_Start and the rest are in calls_request.cpp.
#include "abi/requests.h"
#include "abi/send_buffers.h"
#include "datatype/lifetime.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {
namespace {

using datatype::Type;
using objects::Comm;
using p2p::Request;
using p2p::RequestKind;
using p2p::SendMode;

Status make_persistent(RequestKind kind, SendMode mode, void* buffer, Count count, Type& type, int rank,
                       int tag, Comm& comm, Request*& request) {
  request = p2p::engine().requests().create(kind);
  if (request == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  request->mode = mode;
  request->persistent = true;
  request->active = false;
  request->buffer = buffer;
  request->count = count;
  request->type = &type;
  datatype::retain(type);
  request->key = {comm.context, rank >= 0 ? comm.peers[rank] : rank, tag};
  if (rank == MPI_PROC_NULL) {
    request->from = MPI_PROC_NULL;
    request->received_tag = MPI_ANY_TAG;
  }
  abi::belong_to(request, comm);
  return {};
}

Status make_persistent_send(SendMode mode, const void* buffer, Count count, Type& type, int dest, int tag,
                            Comm& comm, Request*& request) {
  return make_persistent(RequestKind::send, mode, const_cast<void*>(buffer), count, type, dest, tag, comm,
                         request);
}

// A buffered send completes when it is started.
const p2p::RequestHooks buffered_hooks = {
    .advance = nullptr,
    .start =
        [](Request& request) {
          HEARTH_TRY(abi::send_buffer_for(*request.comm)
                         .send(p2p::engine(), request.buffer, request.count, *request.type, request.key.peer,
                               request.key.tag, request.key.context));
          request.active = request.complete = true;
          return Status();
        },
    .query = nullptr,
    .cancel = nullptr,
    .release = nullptr,
};

}  // namespace

Status send_init(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm,
                 Request*& request) {
  return make_persistent_send(SendMode::standard, buf, count, datatype, dest, tag, comm, request);
}

Status ssend_init(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm,
                  Request*& request) {
  return make_persistent_send(SendMode::synchronous, buf, count, datatype, dest, tag, comm, request);
}

Status rsend_init(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm,
                  Request*& request) {
  return make_persistent_send(SendMode::ready, buf, count, datatype, dest, tag, comm, request);
}

Status bsend_init(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm,
                  Request*& request) {
  HEARTH_TRY(make_persistent_send(SendMode::buffered, buf, count, datatype, dest, tag, comm, request));
  request->hooks = &buffered_hooks;
  return {};
}

Status recv_init(void* buf, Count count, Type& datatype, int source, int tag, Comm& comm, Request*& request) {
  return make_persistent(RequestKind::receive, SendMode::standard, buf, count, datatype, source, tag, comm,
                         request);
}

}  // namespace hearth::mpi
