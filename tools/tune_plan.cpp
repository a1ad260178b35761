#include "tune_plan.h"

#include <algorithm>

#include "tune/search.h"
#include "tune/threshold.h"

namespace hearth::tools {
namespace {

using param::Id;

constexpr uint64_t KiB = 1024, MiB = KiB * KiB;
using tune::kNever;

// Larger jobs scale in the same way and take long to start.
constexpr int kReducingRanksMax = 16, kGroupedRanksMax = 256;
// Smaller numbers of ranks hardly form a group.
constexpr int kReducingRanksMin = 2, kGroupedRanksMin = 4;

/// From kGroupedRanksMin up to `most`.
std::vector<uint64_t> numbers_of_ranks(int most) {
  const auto last = static_cast<uint64_t>(most);
  std::vector<uint64_t> numbers = tune::fine_lengths(kGroupedRanksMin, last);
  if (!numbers.empty() && numbers.back() != last) numbers.push_back(last);
  return numbers;
}

}  // namespace

const std::vector<Choice>& choices() {
  static const std::vector<Setting> in_bounce_buffers = {{Id::p2p_single_copy_bytes_min, kNever},
                                                         {Id::p2p_arena_bytes_min, kNever}};
  static const std::vector<Choice> all = {
      {Id::p2p_fragment_bytes_max,
       {16 * KiB, 32 * KiB, 128 * KiB},
       {64 * KiB, 512 * KiB, 4 * MiB},
       in_bounce_buffers},
      {Id::p2p_fragments_in_flight, {2, 4, 16}, {64 * KiB, 512 * KiB, 4 * MiB}, in_bounce_buffers},
      {Id::p2p_first_fragment_bytes, {4 * KiB, 16 * KiB}, {16 * KiB, 64 * KiB, 256 * KiB}, in_bounce_buffers},
  };
  return all;
}

std::vector<CollectiveDivision> collective_divisions(int processors) {
  const int reducing = std::min(processors, kReducingRanksMax);
  const int grouped = std::min(processors, kGroupedRanksMax);
  std::vector<CollectiveDivision> all = {
      {Id::coll_whole_bytes_max, "allreduce, whole", "pipeline_whole", "allreduce, in shares",
       "pipeline_shares", false, kReducingRanksMin, reducing, tune::fine_lengths(KiB, 256 * KiB)},
      {Id::coll_flat_ranks_max, "8 bytes, each reads all", "flat", "8 bytes, in groups", "tree", true,
       kGroupedRanksMin, grouped, numbers_of_ranks(grouped)}};
  for (CollectiveDivision& division : all) {
    if (processors < division.processors_min) division.places.clear();
  }
  return all;
}

const std::vector<Division>& divisions() {
  static const std::vector<Division> all = {
      {Id::p2p_eager_bytes_max,
       {"ring", {{Id::p2p_eager_bytes_max, kNever}, {Id::p2p_single_copy_bytes_min, kNever}}},
       {"bounce buffers, short", {{Id::p2p_eager_bytes_max, 0}, {Id::p2p_single_copy_bytes_min, kNever}}},
       64,
       3 * KiB,
       false,
       true,
       false},
      {Id::p2p_single_copy_bytes_min,
       {"bounce buffers",
        {{Id::p2p_single_copy_bytes_min, kNever}, {Id::p2p_single_copy_measured_bytes_min, kNever}}},
       {"single copy", {{Id::p2p_single_copy_bytes_min, 0}}},
       4 * KiB,
       16 * MiB,
       false,
       false,
       true},
      {Id::p2p_cooperative_bytes_min,
       {"arena", {{Id::p2p_arena_bytes_min, 0}, {Id::p2p_cooperative_bytes_min, kNever}}},
       {"arena, both copy", {{Id::p2p_arena_bytes_min, 0}, {Id::p2p_cooperative_bytes_min, 0}}},
       4 * KiB,
       16 * MiB,
       true,
       false,
       false},
      {Id::p2p_arena_bytes_min,
       {"without the arena", {{Id::p2p_arena_bytes_min, kNever}}},
       {"with the arena", {{Id::p2p_arena_bytes_min, 0}}},
       4 * KiB,
       16 * MiB,
       true,
       false,
       true},
      // Last: single copy is measured with the defaults of these thresholds, which they keep if time is
      // short.
      {Id::p2p_single_copy_cooperative_bytes_min,
       {"single copy, read",
        {{Id::p2p_single_copy_bytes_min, 0},
         {Id::p2p_single_copy_write_bytes_min, kNever},
         {Id::p2p_single_copy_cooperative_bytes_min, kNever}}},
       {"single copy, by both",
        {{Id::p2p_single_copy_bytes_min, 0},
         {Id::p2p_single_copy_write_bytes_min, kNever},
         {Id::p2p_single_copy_cooperative_bytes_min, 0}}},
       16 * KiB,
       16 * MiB,
       false,
       false,
       false},
      {Id::p2p_single_copy_write_bytes_min,
       {"single copy, as before",
        {{Id::p2p_single_copy_bytes_min, 0}, {Id::p2p_single_copy_write_bytes_min, kNever}}},
       {"single copy, written",
        {{Id::p2p_single_copy_bytes_min, 0},
         {Id::p2p_single_copy_write_bytes_min, 0},
         {Id::p2p_single_copy_cooperative_bytes_min, kNever}}},
       16 * KiB,
       16 * MiB,
       false,
       false,
       false},
  };
  return all;
}

}  // namespace hearth::tools
