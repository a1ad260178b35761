// The memory that the ranks of a machine share, under fuzzing: so small that inputs reach its ends.
#pragma once

#include "fuzz.h"
#include "shm/segment.h"

namespace hearth::fuzz {

/// A fuzz target on such memory: constructs `Job` from the input and a new segment, and runs it.
template <class Job>
int run_in_segment(const uint8_t* data, size_t bytes, uint32_t ranks, uint32_t regions) {
  shm::SegmentPlan plan;
  plan.rank_count = ranks;
  plan.ring_lines = 32;
  plan.buffer_bytes = 256;
  plan.buffer_count = 21;
  plan.region_count = regions;
  plan.pipeline_bytes = 4096;
  Input input(data, bytes);
  shm::Segment segment;
  demand(shm::Segment::create(plan, segment).ok(), "there is memory for a segment");
  // The other ranks, which inputs play, may use all regions.
  for (uint32_t region = 0; region < regions; ++region) {
    demand(segment.open_pipeline_buffers(static_cast<int>(region)), "pipeline buffers are accessible");
  }
  Job(input, segment).run();
  return 0;
}

}  // namespace hearth::fuzz
