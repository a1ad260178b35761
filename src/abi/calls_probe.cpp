// MPI 5.0 section 3.8: probing, and receiving matched messages.
#include "abi/handle.h"
#include "abi/requests.h"
#include "abi/status.h"
#include "datatype/lifetime.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"

namespace hearth::mpi {
namespace {

using objects::Comm;
using p2p::Message;
using p2p::Received;
using p2p::Request;

objects::PeerIndex peer_of(const Comm& comm, int source) {
  return source == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : comm.peers[source];
}

void set_found(const Comm& comm, const Received& received, MPI_Status* status) {
  abi::set_status(status, comm.rank_of(received.from), received.tag, received.bytes, false);
}

void set_nobody(MPI_Status* status) {
  abi::set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
}

Status make_message(p2p::UnexpectedMessage* taken, Comm& comm, Message*& message) {
  message = p2p::engine().matching().messages().create();
  if (message == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another matched message");
  message->message = taken;
  message->comm = &comm;
  objects::retain(comm);
  return {};
}

Message* no_proc() {
  return abi::find<Message>(MPI_MESSAGE_NO_PROC);
}

}  // namespace

Status probe(int source, int tag, Comm& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    HEARTH_TRY(abi::without_peer(comm));
    set_nobody(status);
    return {};
  }
  Received received;
  HEARTH_TRY(p2p::engine().probes().probe(peer_of(comm, source), tag, comm.context, received));
  set_found(comm, received, status);
  return {};
}

Status iprobe(int source, int tag, Comm& comm, int& flag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    HEARTH_TRY(abi::without_peer(comm));
    flag = 1;
    set_nobody(status);
    return {};
  }
  Received received;
  flag = p2p::engine().probes().iprobe(peer_of(comm, source), tag, comm.context, received);
  if (!flag) return p2p::engine().failures().check_source(peer_of(comm, source), comm.context);
  set_found(comm, received, status);
  return {};
}

Status mprobe(int source, int tag, Comm& comm, Message*& message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    HEARTH_TRY(abi::without_peer(comm));
    message = no_proc();
    set_nobody(status);
    return {};
  }
  Received received;
  p2p::UnexpectedMessage* taken = nullptr;
  HEARTH_TRY(p2p::engine().probes().mprobe(peer_of(comm, source), tag, comm.context, received, taken));
  set_found(comm, received, status);
  return make_message(taken, comm, message);
}

Status improbe(int source, int tag, Comm& comm, int& flag, Message*& message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    HEARTH_TRY(abi::without_peer(comm));
    flag = 1;
    message = no_proc();
    set_nobody(status);
    return {};
  }
  Received received;
  p2p::UnexpectedMessage* taken =
      p2p::engine().probes().improbe(peer_of(comm, source), tag, comm.context, received);
  flag = taken != nullptr;
  if (!flag) return p2p::engine().failures().check_source(peer_of(comm, source), comm.context);
  set_found(comm, received, status);
  return make_message(taken, comm, message);
}

Status imrecv(void* buf, Count count, datatype::Type& datatype, Message*& message, Request*& request) {
  if (message == nullptr) {
    return fail(MPI_ERR_ARG,
                "the message is MPI_MESSAGE_NULL. Remedy: take one with MPI_Mprobe or MPI_Improbe; each "
                "can be received once");
  }
  Message* taken = message;
  message = nullptr;
  if (taken->message == nullptr) return abi::receive_from_nobody(request);
  p2p::Engine& engine = p2p::engine();
  request = engine.requests().create(p2p::RequestKind::receive);
  if (request == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  request->buffer = buf;
  request->count = count;
  request->type = &datatype;
  datatype::retain(datatype);
  request->key = taken->message->key;
  request->comm = taken->comm;  // takes over the message's reference
  engine.start_matched(*request, taken->message);
  engine.matching().messages().destroy(taken);
  return {};
}

Status mrecv(void* buf, Count count, datatype::Type& datatype, Message*& message, MPI_Status* status) {
  Request* request = nullptr;
  HEARTH_TRY(imrecv(buf, count, datatype, message, request));
  return abi::wait_for(request, status);
}

}  // namespace hearth::mpi
