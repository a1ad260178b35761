#include "tune_plan.h"

#include "tune/threshold.h"

namespace hearth::tools {
namespace {

using param::Id;

constexpr uint64_t KiB = 1024, MiB = KiB * KiB;
constexpr uint64_t kNever = tune::kNever;

}  // namespace

const std::vector<Choice>& choices() {
  static const std::vector<Setting> in_cells = {{Id::p2p_single_copy_bytes_min, kNever},
                                                {Id::p2p_arena_bytes_min, kNever}};
  static const std::vector<Choice> all = {
      {Id::p2p_part_bytes_max, {16 * KiB, 32 * KiB, 128 * KiB}, {64 * KiB, 512 * KiB, 4 * MiB}, in_cells},
      {Id::p2p_cells_in_flight, {2, 4, 16}, {64 * KiB, 512 * KiB, 4 * MiB}, in_cells},
      {Id::p2p_first_part_bytes, {4 * KiB, 16 * KiB}, {16 * KiB, 64 * KiB, 256 * KiB}, in_cells},
  };
  return all;
}

const std::vector<Division>& divisions() {
  static const std::vector<Division> all = {
      {Id::p2p_inline_bytes_max,
       {"ring", {{Id::p2p_inline_bytes_max, kNever}, {Id::p2p_single_copy_bytes_min, kNever}}},
       {"cells, short", {{Id::p2p_inline_bytes_max, 0}, {Id::p2p_single_copy_bytes_min, kNever}}},
       64,
       3 * KiB,
       false,
       true,
       false},
      {Id::p2p_single_copy_bytes_min,
       {"cells", {{Id::p2p_single_copy_bytes_min, kNever}}},
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
      // Last: single copy is measured with their defaults, and where the time is short they keep those.
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
