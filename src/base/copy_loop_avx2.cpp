// Vectors of 32 bytes. Compiled with -mavx2: called only if the processor supports it.
#include <immintrin.h>

#include "base/copy_loop.h"

namespace hearth::copy {
namespace {

struct Avx2 {
  using Vector [[gnu::vector_size(32)]] = long long;
  [[gnu::always_inline]] static void stream(std::byte* to, Vector vector) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), vector);
  }
  [[gnu::always_inline]] static void finish() { _mm_sfence(); }
};

}  // namespace

const VectorLoops& avx2_loops() {
  static constexpr VectorLoops kLoops = {"AVX2", &Loop<Avx2>::cached, &Loop<Avx2>::four_pages,
                                         &Loop<Avx2>::streaming};
  return kLoops;
}

}  // namespace hearth::copy
