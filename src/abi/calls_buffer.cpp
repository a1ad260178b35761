// MPI 5.0 section 3.6: attaching, detaching and flushing the buffers of buffered sends.
#include <map>
#include <memory>

#include "abi/runtime.h"
#include "abi/send_buffers.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

// Buffers by communicator or session.
std::map<const void*, std::unique_ptr<p2p::SendBuffer>>& buffers() {
  static std::map<const void*, std::unique_ptr<p2p::SendBuffer>> by_owner;
  return by_owner;
}

p2p::SendBuffer& make_buffer(const void* owner) {
  std::unique_ptr<p2p::SendBuffer>& buffer = buffers()[owner];
  if (buffer == nullptr) buffer = std::make_unique<p2p::SendBuffer>();
  return *buffer;
}

p2p::SendBuffer* attached_buffer(const void* owner) {
  const auto found = buffers().find(owner);
  return found != buffers().end() && found->second->attached() ? found->second.get() : nullptr;
}

void drop_buffer(const void* owner) {
  const auto found = buffers().find(owner);
  if (found == buffers().end()) return;
  found->second->flush(p2p::engine());
  buffers().erase(owner);  // by key: flushing lets other threads change the table
}

}  // namespace

p2p::SendBuffer& send_buffer_of(objects::Comm& comm) {
  return make_buffer(&comm);
}

p2p::SendBuffer& send_buffer_of(objects::Session& session) {
  return make_buffer(&session);
}

p2p::SendBuffer& send_buffer_for(objects::Comm& comm) {
  if (buffers().empty()) return runtime().send_buffer;
  if (p2p::SendBuffer* own = attached_buffer(&comm)) return *own;
  if (p2p::SendBuffer* of_session = attached_buffer(comm.group->session)) return *of_session;
  return runtime().send_buffer;
}

void flush_all_send_buffers() {
  runtime().send_buffer.flush(p2p::engine());
  for (auto& [owner, buffer] : buffers()) buffer->flush(p2p::engine());
}

void drop_send_buffer(objects::Comm& comm) {
  drop_buffer(&comm);
}

void drop_send_buffer(objects::Session& session) {
  drop_buffer(&session);
}

}  // namespace hearth::abi

namespace hearth::mpi {
namespace {

Status detach(p2p::SendBuffer& buffer, void* buffer_address, Count& size) {
  void* memory = nullptr;
  HEARTH_TRY(buffer.detach(p2p::engine(), memory, size));
  *static_cast<void**>(buffer_address) = memory;
  return {};
}

// Returns a request that completes when the buffer is empty.
Status start_flush(p2p::SendBuffer& buffer, p2p::Request*& request) {
  static constexpr p2p::RequestHooks hooks = {
      .advance =
          [](p2p::Request& made) {
            made.complete = static_cast<p2p::SendBuffer*>(made.state)->idle(p2p::engine());
          },
      .start = nullptr,
      .query = nullptr,
      .cancel = nullptr,
      .release = nullptr,
  };
  if (buffer.idle(p2p::engine())) {
    request = p2p::engine().requests().completed_send();
    return {};
  }
  request = p2p::engine().requests().create(p2p::RequestKind::buffer_flush);
  if (request == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for a request");
  request->hooks = &hooks;
  request->state = &buffer;
  p2p::engine().requests().add_hooked(*request);
  return {};
}

}  // namespace

Status buffer_attach(void* buffer, Count size) {
  return abi::runtime().send_buffer.attach(buffer, size);
}

Status buffer_detach(void* buffer_addr, Count& size) {
  return detach(abi::runtime().send_buffer, buffer_addr, size);
}

Status buffer_flush() {
  abi::runtime().send_buffer.flush(p2p::engine());
  return {};
}

Status buffer_iflush(p2p::Request*& request) {
  return start_flush(abi::runtime().send_buffer, request);
}

Status comm_attach_buffer(objects::Comm& comm, void* buffer, Count size) {
  return abi::send_buffer_of(comm).attach(buffer, size);
}

Status comm_detach_buffer(objects::Comm& comm, void* buffer_addr, Count& size) {
  return detach(abi::send_buffer_of(comm), buffer_addr, size);
}

Status comm_flush_buffer(objects::Comm& comm) {
  abi::send_buffer_of(comm).flush(p2p::engine());
  return {};
}

Status comm_iflush_buffer(objects::Comm& comm, p2p::Request*& request) {
  return start_flush(abi::send_buffer_of(comm), request);
}

Status session_attach_buffer(objects::Session& session, void* buffer, Count size) {
  return abi::send_buffer_of(session).attach(buffer, size);
}

Status session_detach_buffer(objects::Session& session, void* buffer_addr, Count& size) {
  return detach(abi::send_buffer_of(session), buffer_addr, size);
}

Status session_flush_buffer(objects::Session& session) {
  abi::send_buffer_of(session).flush(p2p::engine());
  return {};
}

Status session_iflush_buffer(objects::Session& session, p2p::Request*& request) {
  return start_flush(abi::send_buffer_of(session), request);
}

}  // namespace hearth::mpi
