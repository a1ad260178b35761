#include "transport/shm_bounce_buffers.h"

#include "shm/wait.h"

namespace hearth::transport {

uint32_t ShmBounceBuffers::ticket(PeerIndex owner, int run) {
  return owner == self_ ? cells_.ticket(run) : shm::CellPool::next_ticket(segment_, owner, run);
}

bool ShmBounceBuffers::returned(PeerIndex owner, int run, uint32_t ticket) {
  return shm::CellPool::returned(segment_, owner, run, ticket);
}

std::byte* ShmBounceBuffers::memory(PeerIndex owner, int run, size_t bytes) {
  const shm::JobGeometry& job = segment_.geometry();
  if (run < 0 || static_cast<uint32_t>(run) >= job.cell_count) return nullptr;
  if (bytes > (job.cell_count - static_cast<uint64_t>(run)) * job.cell_bytes) return nullptr;
  return segment_.cell_memory(owner, static_cast<uint32_t>(run));
}

void ShmBounceBuffers::release(PeerIndex owner, int run, PeerIndex from) {
  shm::CellPool::mark_free(segment_, owner, run);
  shm::WakeWord(segment_, from).wake();
}

}  // namespace hearth::transport
