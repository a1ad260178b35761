// MPI 5.0 chapter 3: point-to-point calls. Their arguments have been checked; ranks become processes here.
#include <cstdlib>
#include <memory>

#include "abi/requests.h"
#include "abi/send_buffers.h"
#include "abi/status.h"
#include "hearth_calls.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "p2p/inline_path.h"
#include "profile/recorder.h"

namespace hearth::mpi {
namespace {

using datatype::Type;
using objects::Comm;
using p2p::Engine;
using p2p::Request;
using p2p::SendMode;

[[gnu::noinline]] Status start_send(const void* buffer, Count count, Type& type, int dest, int tag,
                                    Comm& comm, SendMode mode, Request*& request) {
  Engine& engine = p2p::engine();
  if (dest == MPI_PROC_NULL) {
    profile::count_frequent_call(0);
    HEARTH_TRY(abi::without_peer(comm));
    request = engine.requests().completed_send();
    return {};
  }
  HEARTH_TRY(engine.isend(buffer, count, type, comm.peers[dest], tag, comm.context, request, mode));
  abi::belong_to(request, comm);
  return {};
}

[[gnu::noinline]] Status send_blocking(const void* buffer, Count count, Type& type, int dest, int tag,
                                       Comm& comm, SendMode mode) {
  if (dest == MPI_PROC_NULL) {
    profile::count_frequent_call(0);
    return abi::without_peer(comm);
  }
  return p2p::engine().send(buffer, count, type, comm.peers[dest], tag, comm.context, mode);
}

Status send_buffered(const void* buffer, Count count, Type& type, int dest, int tag, Comm& comm) {
  if (dest == MPI_PROC_NULL) return abi::without_peer(comm);
  return abi::send_buffer_for(comm).send(p2p::engine(), buffer, count, type, comm.peers[dest], tag,
                                         comm.context);
}

[[gnu::noinline]] Status receive_blocking(void* buffer, Count count, Type& type, int source, int tag,
                                          Comm& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    profile::count_frequent_call(0);
    HEARTH_TRY(abi::without_peer(comm));
    abi::set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);  // MPI 5.0 section 3.10
    return {};
  }
  const objects::PeerIndex from = source == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : comm.peers[source];
  p2p::Received received;
  const Status outcome = p2p::engine().receive(buffer, count, type, from, tag, comm.context, &received);
  if (status != nullptr) {
    const int sender = source != MPI_ANY_SOURCE ? source : comm.rank_of(received.from);
    abi::set_status(status, sender, received.tag, received.bytes, false);
  }
  return outcome;
}

[[gnu::noinline]] Status start_receive(void* buffer, Count count, Type& type, int source, int tag, Comm& comm,
                                       Request*& request) {
  if (source == MPI_PROC_NULL) {
    HEARTH_TRY(abi::without_peer(comm));
    return abi::receive_from_nobody(request);
  }
  const objects::PeerIndex from = source == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : comm.peers[source];
  HEARTH_TRY(p2p::engine().ireceive(buffer, count, type, from, tag, comm.context, request));
  abi::belong_to(request, comm);
  return {};
}

// Short messages of these calls bypass the profile; these out-of-line paths record all other ones. A call
// inside of another call is recorded for the outer one.

[[gnu::noinline]] Status send_seen(const void* buffer, Count count, Type& type, int dest, int tag,
                                   Comm& comm) {
  const profile::CallScope call(profile::frequent_call, static_cast<int>(abi::Call::send));
  return send_blocking(buffer, count, type, dest, tag, comm, SendMode::standard);
}

[[gnu::noinline]] Status isend_seen(const void* buffer, Count count, Type& type, int dest, int tag,
                                    Comm& comm, Request*& request) {
  const profile::CallScope call(profile::frequent_call, static_cast<int>(abi::Call::isend));
  return start_send(buffer, count, type, dest, tag, comm, SendMode::standard, request);
}

[[gnu::noinline]] Status receive_seen(void* buffer, Count count, Type& type, int source, int tag, Comm& comm,
                                      MPI_Status* status) {
  const profile::CallScope call(profile::frequent_call, static_cast<int>(abi::Call::recv));
  return receive_blocking(buffer, count, type, source, tag, comm, status);
}

}  // namespace

[[gnu::hot]] Status send(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm) {
  if (__builtin_expect(dest != MPI_PROC_NULL, 1) &&
      p2p::engine().send_inline(buf, count, datatype, comm.peers[dest], tag, comm.context,
                                static_cast<int>(abi::Call::send))) {
    return {};
  }
  return send_seen(buf, count, datatype, dest, tag, comm);
}

Status ssend(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm) {
  return send_blocking(buf, count, datatype, dest, tag, comm, SendMode::synchronous);
}

Status rsend(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm) {
  return send_blocking(buf, count, datatype, dest, tag, comm, SendMode::ready);
}

Status bsend(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm) {
  return send_buffered(buf, count, datatype, dest, tag, comm);
}

[[gnu::hot]] Status isend(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm,
                          Request*& request) {
  request = p2p::engine().requests().completed_send();
  if (__builtin_expect(dest != MPI_PROC_NULL, 1) &&
      p2p::engine().send_inline(buf, count, datatype, comm.peers[dest], tag, comm.context,
                                static_cast<int>(abi::Call::isend))) {
    return {};
  }
  return isend_seen(buf, count, datatype, dest, tag, comm, request);
}

Status issend(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm,
              Request*& request) {
  return start_send(buf, count, datatype, dest, tag, comm, SendMode::synchronous, request);
}

Status irsend(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm,
              Request*& request) {
  return start_send(buf, count, datatype, dest, tag, comm, SendMode::ready, request);
}

Status ibsend(const void* buf, Count count, Type& datatype, int dest, int tag, Comm& comm,
              Request*& request) {
  HEARTH_TRY(send_buffered(buf, count, datatype, dest, tag, comm));
  request = p2p::engine().requests().completed_send();
  return {};
}

[[gnu::hot]] Status recv(void* buf, Count count, Type& datatype, int source, int tag, Comm& comm,
                         MPI_Status* status) {
  // Without threads, the entry point has polled for a while already (inline_path.h).
  if (LibraryLock::enabled && source >= 0 &&
      p2p::engine().receive_inline(buf, count, datatype, comm.peers[source], tag, comm.context,
                                   static_cast<int>(abi::Call::recv))) {
    abi::set_status(status, source, tag, count * datatype.size, false);
    return {};
  }
  return receive_seen(buf, count, datatype, source, tag, comm, status);
}

[[gnu::hot]] Status irecv(void* buf, Count count, Type& datatype, int source, int tag, Comm& comm,
                          Request*& request) {
  if (__builtin_expect(source >= 0, 1)) {
    request = p2p::engine().post_inline(buf, count, datatype, comm.peers[source], tag, comm);
    if (__builtin_expect(request != nullptr, 1)) return {};
  }
  return start_receive(buf, count, datatype, source, tag, comm, request);
}

Status sendrecv(const void* sendbuf, Count sendcount, Type& sendtype, int dest, int sendtag, void* recvbuf,
                Count recvcount, Type& recvtype, int source, int recvtag, Comm& comm, MPI_Status* status) {
  const profile::CallScope call(profile::outer_call, static_cast<int>(abi::Call::sendrecv));
  Request* receiving = nullptr;
  HEARTH_TRY(irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, receiving));
  const Status sent = send(sendbuf, sendcount, sendtype, dest, sendtag, comm);
  if (!sent.ok()) {
    abi::abandon(receiving);
    return sent;
  }
  return abi::wait_for(receiving, status);
}

Status sendrecv_replace(void* buf, Count count, Type& datatype, int dest, int sendtag, int source,
                        int recvtag, Comm& comm, MPI_Status* status) {
  // The data are copied first: the receive may write to the buffer before the send has read it.
  const auto bytes = static_cast<size_t>(count * datatype.size);
  const std::unique_ptr<std::byte, decltype(&std::free)> copy(static_cast<std::byte*>(std::malloc(bytes + 1)),
                                                              &std::free);
  if (copy == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", bytes);
  datatype::pack(datatype, buf, 0, copy.get(), bytes);
  return sendrecv(copy.get(), static_cast<Count>(bytes), abi::byte_type(), dest, sendtag, buf, count,
                  datatype, source, recvtag, comm, status);
}

Status isendrecv(const void* sendbuf, Count sendcount, Type& sendtype, int dest, int sendtag, void* recvbuf,
                 Count recvcount, Type& recvtype, int source, int recvtag, Comm& comm, Request*& request) {
  const profile::CallScope call(profile::outer_call, static_cast<int>(abi::Call::isendrecv));
  Request* receiving = nullptr;
  Request* sending = nullptr;
  HEARTH_TRY(irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, receiving));
  const Status sent = isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, sending);
  if (!sent.ok()) {
    abi::abandon(receiving);
    return sent;
  }
  return abi::pair_up(receiving, sending, nullptr, request);
}

Status isendrecv_replace(void* buf, Count count, Type& datatype, int dest, int sendtag, int source,
                         int recvtag, Comm& comm, Request*& request) {
  const profile::CallScope call(profile::outer_call, static_cast<int>(abi::Call::isendrecv_replace));
  const auto bytes = static_cast<size_t>(count * datatype.size);
  auto* copy = static_cast<std::byte*>(std::malloc(bytes + 1));
  if (copy == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", bytes);
  datatype::pack(datatype, buf, 0, copy, bytes);
  Request* sending = nullptr;
  Request* receiving = nullptr;
  Status started = irecv(buf, count, datatype, source, recvtag, comm, receiving);
  if (started.ok()) {
    started = isend(copy, static_cast<Count>(bytes), abi::byte_type(), dest, sendtag, comm, sending);
    if (!started.ok()) abi::abandon(receiving);
  }
  if (!started.ok()) {
    std::free(copy);
    return started;
  }
  return abi::pair_up(receiving, sending, copy, request);
}

}  // namespace hearth::mpi
