#include "shm/write_prefetch.h"

#include "base/param.h"

namespace hearth::shm {

bool WritePrefetch::enabled() {
  return param::get_flag(param::Id::p2p_prefetch_for_write);
}

// Both passes contain two fences and a clock reading, so their difference counts, not their ratio.
void WritePrefetch::update(uint64_t first_ns, uint64_t again_ns) {
  constexpr uint64_t kGainNsMin = 8;  // beyond the noise of two clock readings
  const bool paid = first_ns > again_ns + kGainNsMin;
  against_ = paid == pays_ ? 0 : static_cast<uint8_t>(against_ + 1);
  if (against_ < (pays_ ? kTrialsToStop : kTrialsToResume)) return;
  pays_ = paid;
  against_ = 0;
}

}  // namespace hearth::shm
