// The instruction sets for which loops over vectors are compiled, and which of them this processor has: for
// whoever compiles one file for each (copy_loop_*.cpp, datatype/reduce_kernels_*.cpp) and chooses at run
// time. From any thread, at any time.
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
  baseline,  // what every processor of the architecture has
  avx2,      // x86 only
  avx512     // x86 only: the foundation, and BW, DQ and VL
};

/// By the processor's own word: the best first, the baseline last.
std::span<const VectorSet> usable_vector_sets();

}  // namespace hearth
