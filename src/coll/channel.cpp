#include "coll/channel.h"

#include <span>

#include "mpi.h"
#include "objects/pools.h"

namespace hearth::coll {

datatype::Type& byte_type() {
  return static_cast<datatype::Type&>(*objects::pools.predefined[reinterpret_cast<uintptr_t>(MPI_BYTE)]);
}

Status Channel::send_and_receive(const void* out, Count out_count, const datatype::Type& out_type, int to,
                                 void* in, Count in_count, datatype::Type& in_type, int from) const {
  // The receive first: a long send may wait for the other side's receive, and it for ours.
  p2p::Request* receiving = nullptr;
  HEARTH_TRY(start_receive(in, in_count, in_type, from, receiving));
  const Status sent = send(out, out_count, out_type, to);
  if (!sent.ok()) p2p::engine().cancel(*receiving);
  const Status received = p2p::engine().wait(receiving);
  return sent.ok() ? received : sent;
}

Status Channel::exchange(const void* out, Count out_count, const datatype::Type& out_type, int to, void* in,
                         Count in_count, datatype::Type& in_type, int from) const {
  const bool sends = out_count != 0 && out_type.size != 0;
  const bool receives = in_count != 0 && in_type.size != 0;
  if (sends && receives) return send_and_receive(out, out_count, out_type, to, in, in_count, in_type, from);
  if (sends) return send(out, out_count, out_type, to);
  if (receives) return receive(in, in_count, in_type, from);
  return {};
}

Status Channel::signal(int to, int from) const {
  return send_and_receive(nullptr, 0, byte_type(), to, nullptr, 0, byte_type(), from);
}

Status Window::make_room() {
  return used_ < kRequestsMax ? Status() : finish();
}

Status Window::send(const void* buffer, Count count, datatype::Type& type, int to) {
  HEARTH_TRY(make_room());
  HEARTH_TRY(channel_.start_send(buffer, count, type, to, requests_[used_]));
  ++used_;
  return {};
}

Status Window::receive(void* buffer, Count count, datatype::Type& type, int from) {
  HEARTH_TRY(make_room());
  HEARTH_TRY(channel_.start_receive(buffer, count, type, from, requests_[used_]));
  ++used_;
  return {};
}

Status Window::finish() {
  const Status status = p2p::engine().wait_all(std::span(requests_.data(), used_));
  used_ = 0;
  return status;
}

}  // namespace hearth::coll
