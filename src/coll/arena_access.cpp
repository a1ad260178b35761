#include "coll/arena_access.h"

#include "base/atomic.h"
#include "coll/collective_region.h"
#include "shm/corruption.h"

namespace hearth::coll {

void ArenaAccess::map_slices() {
  has_published_reads_ = true;
  if (arena_ == nullptr) return;
  for (int rank = 0; rank < region_.size(); ++rank) {
    if (rank != region_.rank() && arena_->memory_of(region_.place(rank), 0, 0) == nullptr) return;
  }
  // Pairs with check_all_read().
  atomic::store_release(region_.own_rank_slots().consumed[kReads], uint64_t{1});
}

bool ArenaAccess::check_all_read() {
  for (int rank = 0; rank < region_.size(); ++rank) {
    if (rank == region_.rank()) continue;
    if (atomic::load_acquire(region_.rank_slots(rank).consumed[kReads]) == 0) return false;
  }
  return all_read_ = true;
}

bool ArenaAccess::expose(const void* place, int64_t bytes, uint64_t& offset) {
  if (arena_ == nullptr || !(all_read_ || check_all_read())) return false;
  if (!arena_->holds(place, static_cast<size_t>(bytes))) arena_->note_private_message();
  exposure_ = arena_->expose(place, static_cast<size_t>(bytes));
  offset = exposure_.offset();
  return static_cast<bool>(exposure_);
}

const std::byte* ArenaAccess::exposed_by(int rank, uint64_t offset, int64_t bytes) const {
  const std::byte* const memory =
      arena_ == nullptr ? nullptr
                        : arena_->memory_of(region_.place(rank), offset, static_cast<size_t>(bytes));
  if (memory == nullptr) {
    shm::report_corruption("rank %d exposes %lld bytes at %llu of its arena slice, which are not in it", rank,
                           static_cast<long long>(bytes), static_cast<unsigned long long>(offset));
  }
  return memory;
}

}  // namespace hearth::coll
