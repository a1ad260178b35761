// The instruction sets for which vector loops are compiled (copy_loop_*.cpp, datatype/reduce_kernels_*.cpp),
// and those that this processor supports, for the choice at run time; and the processor's model, as far as a
// choice depends on it. Any thread, at any time.
#pragma once

#include <cstdint>
#include <span>

namespace hearth {

#if defined(__x86_64__)
constexpr bool kIsX86 = true;
#else
constexpr bool kIsX86 = false;
#endif

enum class VectorSet : uint8_t {
  baseline,  // supported by every processor of the architecture
  avx2,      // x86 only
  avx512     // x86 only: the foundation, and BW, DQ and VL
};

/// Those that the processor reports, best first, the baseline last.
std::span<const VectorSet> usable_vector_sets();

/// Whether this is AMD's Zen 5 or a successor.
bool is_amd_zen5();

}  // namespace hearth
