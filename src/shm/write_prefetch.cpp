#include "shm/write_prefetch.h"

#include "base/param.h"

namespace hearth::shm {

bool WritePrefetch::enabled() {
  return param::get_flag(param::Id::p2p_prefetch_for_write);
}

// A line from another cache takes tens of nanoseconds, as long as both fences and clock readings together.
void WritePrefetch::update(uint64_t first_ns, uint64_t again_ns) {
  const bool paid = first_ns > again_ns + again_ns / 4;
  against_ = paid == pays_ ? 0 : static_cast<uint8_t>(against_ + 1);
  if (against_ < kTrials) return;
  pays_ = paid;
  against_ = 0;
}

}  // namespace hearth::shm
