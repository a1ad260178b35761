#include "transport/shm_bounce_buffers.h"

#include "shm/wait.h"

namespace hearth::transport {

uint32_t ShmBounceBuffers::ticket(PeerIndex owner, int run) {
  const shm::PoolPlace pool = node_.pool_of(owner);
  return pool.segment == &segment_ && pool.rank == node_.local_rank()
             ? buffers_.ticket(run)
             : shm::BufferPool::next_ticket(*pool.segment, pool.rank, run);
}

bool ShmBounceBuffers::returned(PeerIndex owner, int run, uint32_t ticket) {
  const shm::PoolPlace pool = node_.pool_of(owner);
  return shm::BufferPool::returned(*pool.segment, pool.rank, run, ticket);
}

std::byte* ShmBounceBuffers::memory(PeerIndex owner, int run, size_t bytes) {
  // A damaged packet may name any process and run.
  const shm::PoolPlace pool = node_.pool_of(owner);
  if (pool.segment == nullptr || run < 0) return nullptr;
  const shm::JobGeometry& job = pool.segment->geometry();
  if (static_cast<uint32_t>(run) >= job.buffer_count) return nullptr;
  if (bytes > (job.buffer_count - static_cast<uint64_t>(run)) * job.buffer_bytes) return nullptr;
  return pool.segment->buffer_memory(pool.rank, static_cast<uint32_t>(run));
}

void ShmBounceBuffers::release(PeerIndex owner, int run, PeerIndex from) {
  const shm::PoolPlace pool = node_.pool_of(owner);
  const shm::PoolPlace filler = node_.pool_of(from);
  shm::BufferPool::mark_free(*pool.segment, pool.rank, run);
  shm::WakeWord(*filler.segment, filler.rank).wake();
}

}  // namespace hearth::transport
