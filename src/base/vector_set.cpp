#include "base/vector_set.h"

namespace hearth {
namespace {

struct Usable {
  VectorSet sets[3];
  size_t count = 0;
  void add(VectorSet set) { sets[count++] = set; }
};

#if defined(__x86_64__)
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/// Whether 64-byte vectors run at full width and full speed. Intel's first generations reduce their clock for
/// a while when they execute one; VBMI2 identifies those that do not. AMD's Zen 4 executes them in halves:
/// AVX2 was as fast or up to a tenth faster there (November 2026). Zen 5 executes them whole.
bool has_whole_avx512() {
  return __builtin_cpu_is("amd") ? is_amd_zen5() : __builtin_cpu_supports("avx512vbmi2");
}
#endif

Usable ask_processor() {
  Usable usable;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx512 = has_avx512();
  if (avx512 && has_whole_avx512()) usable.add(VectorSet::avx512);
  if (__builtin_cpu_supports("avx2")) usable.add(VectorSet::avx2);
  if (avx512 && !has_whole_avx512()) usable.add(VectorSet::avx512);
#endif
  usable.add(VectorSet::baseline);
  return usable;
}

}  // namespace

// By an instruction set that AMD's earlier processors lack.
bool is_amd_zen5() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vp2intersect");
#else
  return false;
#endif
}

std::span<const VectorSet> usable_vector_sets() {
  static const Usable usable = ask_processor();
  return {usable.sets, usable.count};
}

}  // namespace hearth
