// Vectors of 64 bytes, a whole line. Compiled with -mavx512f: called only if the processor supports it.
#include <immintrin.h>

#include "base/copy_loop.h"

namespace hearth::copy {
namespace {

struct Avx512 {
  using Vector [[gnu::vector_size(64)]] = long long;
  [[gnu::always_inline]] static void stream(std::byte* to, Vector vector) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), vector);
  }
  [[gnu::always_inline]] static void finish() { _mm_sfence(); }
};

}  // namespace

const VectorLoops& avx512_loops() {
  static constexpr VectorLoops kLoops = {"AVX-512", &Loop<Avx512>::cached, &Loop<Avx512>::four_pages,
                                         &Loop<Avx512>::streaming};
  return kLoops;
}

}  // namespace hearth::copy
