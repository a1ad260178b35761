#include "job.h"

#include "base/check.h"

namespace hearth::contract {

Job::Job(Kind kind, int size, uint32_t seed) {
  if (kind == Kind::fake) {
    network_ = std::make_unique<FakeNetwork>(size, seed);
    for (int rank = 0; rank < size; ++rank) {
      endpoints_.push_back(std::make_unique<FakeTransport>(*network_, rank));
    }
    return;
  }
  shm::SegmentPlan plan;
  plan.rank_count = static_cast<uint32_t>(size);
  plan.ring_lines = 64;  // small, so that wrapping and fullness are met often
  plan.cell_bytes = 256;
  plan.cell_count = 21;
  plan.area_count = 1;
  plan.chunk_bytes = 4096;
  HEARTH_CHECK(shm::Segment::create(plan, segment_).ok());
  for (int rank = 0; rank < size; ++rank) {
    endpoints_.push_back(std::make_unique<transport::ShmTransport>(segment_, rank));
  }
}

}  // namespace hearth::contract
