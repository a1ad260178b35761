#include "coll/pipeline_ring.h"

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/os_memory.h"
#include "coll/access_counters.h"
#include "coll/collective_region.h"

namespace hearth::coll {

PipelineRing::PipelineRing(CollectiveRegion& region, bool grows)
    : store_policy(p2p::store_choice()),
      region_(region),
      memory_bytes_(region.pipeline_buffers(region.rank()).size()),
      grows_(grows) {}

std::byte* PipelineRing::place(int rank, uint64_t position) const {
  return region_.pipeline_buffers(rank).data() + position % memory_bytes_;
}

std::byte* PipelineRing::place_to_write(uint64_t begin, uint64_t end) {
  const uint64_t place = begin % memory_bytes_;
  const uint64_t place_end = place + (end - begin);
  // Stages with gaps between them would leave populated pages unused.
  if (place <= populated_ && place_end > populated_) [[unlikely]]
    populate(place_end);
  return region_.pipeline_buffers(region_.rank()).data() + place;
}

void PipelineRing::populate(uint64_t place_end) {
  constexpr uint64_t kStepBytes = 64 * 1024;
  const uint64_t populated = std::min(memory_bytes_, (place_end + kStepBytes - 1) / kStepBytes * kStepBytes);
  // If the system refuses, each page is allocated by a page fault.
  static_cast<void>(os::populate_pages(region_.pipeline_buffers(region_.rank()).data() + populated_,
                                       populated - populated_));
  populated_ = populated;
}

void PipelineRing::update_consumed_by_all(int& awaited) {
  uint64_t least = UINT64_MAX;
  for (int rank = 0; rank < region_.size(); ++rank) {
    if (rank == region_.rank()) continue;
    // Pairs with publish_consumed(): the data that are overwritten now were read before.
    const uint64_t consumed = atomic::load_acquire(region_.rank_slots(rank).consumed[0]);
    access_counters::reads(region_.rank_slots(rank).consumed, sizeof consumed);
    if (consumed >= least) continue;
    least = consumed;
    awaited = rank;
  }
  consumed_by_all_ = least;
}

bool PipelineRing::is_consumed(int by, uint64_t end, int& awaited) {
  if (by < 0) {
    if (consumed_by_all_ < end) update_consumed_by_all(awaited);
    return consumed_by_all_ >= end;
  }
  awaited = by;
  // Pairs with publish_consumed(): the exposed data may change now.
  return atomic::load_acquire(region_.rank_slots(by).consumed[0]) >= end;
}

void PipelineRing::publish_exposure(ZeroCopyExposure exposure) {
  const uint64_t next = exposure.word | (published_exposure_ & ZeroCopyExposure::kWithdrawn);
  if (next == published_exposure_) return;
  published_exposure_ = next;
  // Pairs with exposure(): publish_produced() follows.
  atomic::store_release(region_.own_rank_slots().produced[kExposure], next);
}

void PipelineRing::withdraw_exposure() {
  published_exposure_ |= ZeroCopyExposure::kWithdrawn;
  atomic::store_relaxed(region_.own_rank_slots().produced[kExposure], published_exposure_);
  // A reader that sees data that the program stores there from now on also sees the changed word.
  atomic::fence_release();
}

ZeroCopyExposure PipelineRing::exposure(int rank) const {
  return {atomic::load_acquire(region_.rank_slots(rank).produced[kExposure])};
}

void PipelineRing::publish_produced(Word word, uint64_t end, int to) {
  chaos::at(chaos::Point::stage_half_written);
  uint64_t& shown = region_.own_rank_slots().produced[static_cast<size_t>(word)];
  atomic::store_release(shown, end);
  access_counters::writes(&shown, sizeof shown);
  chaos::at(chaos::Point::stage_published);
  to >= 0 ? region_.wake(to) : region_.wake_all();
}

bool PipelineRing::has_produced(int rank, Word word, uint64_t end) const {
  const uint64_t& shown = region_.rank_slots(rank).produced[static_cast<size_t>(word)];
  if (atomic::load_acquire(shown) < end) return false;
  access_counters::reads(&shown, sizeof shown);
  return true;
}

void PipelineRing::publish_consumed(uint64_t end) {
  chaos::at(chaos::Point::collective_ends);
  atomic::store_release(region_.own_rank_slots().consumed[0], end);
  access_counters::writes(region_.own_rank_slots().consumed, sizeof end);
  region_.wake_all();
}

}  // namespace hearth::coll
