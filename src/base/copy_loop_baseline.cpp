// Vectors of 16 bytes, which every x86-64 (SSE2) and every aarch64 (NEON) has. On other processors the
// compiler emulates them.
#include "base/copy_loop.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace hearth::copy {
namespace {

struct Baseline {
  using Vector [[gnu::vector_size(16)]] = long long;
#if defined(__x86_64__)
  [[gnu::always_inline]] static void stream(std::byte* to, Vector vector) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), vector);
  }
  // copy_engine.cpp explains the fence.
  [[gnu::always_inline]] static void finish() {
    _mm_sfence();
  }
#elif defined(__aarch64__)
  // aarch64 has non-temporal stores of pairs only. A pair of 16-byte registers would do as well, but the loop
  // works on single vectors.
  [[gnu::always_inline]] static void stream(std::byte* to, Vector vector) {
    const auto low = vector[0];
    const auto high = vector[1];
    asm volatile("stnp %1, %2, [%0]" : : "r"(to), "r"(low), "r"(high) : "memory");
  }
  // A store-release orders these stores like any other.
  [[gnu::always_inline]] static void finish() {}
#endif
};

}  // namespace

const VectorLoops& baseline_loops() {
#if defined(__x86_64__)
  static constexpr VectorLoops kLoops = {"SSE2", &Loop<Baseline>::cached, &Loop<Baseline>::four_pages,
                                         &Loop<Baseline>::streaming};
#elif defined(__aarch64__)
  static constexpr VectorLoops kLoops = {"NEON", &Loop<Baseline>::cached, &Loop<Baseline>::four_pages,
                                         &Loop<Baseline>::streaming};
#else
  static constexpr VectorLoops kLoops = {"plain", &Loop<Baseline>::cached, &Loop<Baseline>::four_pages,
                                         nullptr};
#endif
  return kLoops;
}

}  // namespace hearth::copy
