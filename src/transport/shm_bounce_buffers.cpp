#include "transport/shm_bounce_buffers.h"

#include "shm/wait.h"

namespace hearth::transport {

uint32_t ShmBounceBuffers::ticket(PeerIndex owner, int run) {
  const int local = node_.local_rank_of(owner);
  return local == node_.local_rank() ? buffers_.ticket(run)
                                     : shm::BufferPool::next_ticket(segment_, local, run);
}

bool ShmBounceBuffers::returned(PeerIndex owner, int run, uint32_t ticket) {
  return shm::BufferPool::returned(segment_, node_.local_rank_of(owner), run, ticket);
}

std::byte* ShmBounceBuffers::memory(PeerIndex owner, int run, size_t bytes) {
  const shm::JobGeometry& job = segment_.geometry();
  // A damaged packet may name any process and run.
  if (!node_.has(owner) || run < 0 || static_cast<uint32_t>(run) >= job.buffer_count) return nullptr;
  if (bytes > (job.buffer_count - static_cast<uint64_t>(run)) * job.buffer_bytes) return nullptr;
  return segment_.buffer_memory(node_.local_rank_of(owner), static_cast<uint32_t>(run));
}

void ShmBounceBuffers::release(PeerIndex owner, int run, PeerIndex from) {
  shm::BufferPool::mark_free(segment_, node_.local_rank_of(owner), run);
  shm::WakeWord(segment_, node_.local_rank_of(from)).wake();
}

}  // namespace hearth::transport
