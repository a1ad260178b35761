// Engines for long copies within the memory of this process, private or shared with other processes, and the
// choice of one for a copy. base/copy.h copies short data inline. Any thread, at any time; the only state is
// what was detected about the processor at first use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::copy {

enum class Engine : uint8_t {
  cached,      // vector loop through the caches that prefetches the source; always available
  four_pages,  // vector loop that alternates between four pages: faster for data in another processor's cache
  rep_movsb,   // the processor's string copy
  non_temporal,  // vector loop with non-temporal stores
  dsa,           // Intel's Data Streaming Accelerator (base/copy_dsa.h)
};
constexpr int kEngineCount = 5;

/// "cached", "rep_movsb", ...: the name in reports and in `hearth info`.
const char* name(Engine engine);

/// Whether the engine exists and, for dsa, still works. The first call for dsa opens a work queue and tests
/// it with a short copy. run() replaces an unavailable engine by `cached`.
bool available(Engine engine);

/// Copies like memcpy: the ranges must not overlap, and no byte outside of them is accessed. At alignments at
/// which rep_movsb is slow, the cached loop replaces it. After the call, a release store of the caller
/// publishes the bytes, whichever engine wrote them.
void run(Engine engine, void* to, const void* from, size_t bytes);

/// run(Engine::cached, ...) without the checks.
void run_cached(void* to, const void* from, size_t bytes);

/// How far the destination begins after the source, modulo 4096, the size of a page: on some processors the
/// string copy is slow if this is less than a line.
inline unsigned alignment_difference(const void* to, const void* from) {
  return static_cast<unsigned>((reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % 4096);
}

/// The engine for one copy. `cache_shared`: the next reader of the destination has read it before and shares
/// a cache with the copying processor, as a receiver that copies for itself. The limits are parameters in
/// base/param.def, or constants in copy_engine.cpp with their measurements.
Engine choose(size_t bytes, bool cache_shared);

/// Below these lengths the next two functions never choose the string copy.
constexpr size_t kStringCopyBytesMin = 8192;
constexpr size_t kStringCopyForReaderBytesMin = 4096;

/// The engine for a piece of `bytes` bytes of a copy of `whole_bytes` bytes, which this processor reads next:
/// of memory that another process has written, or to memory that it reads.
Engine choose_for_piece(size_t bytes, uint64_t whole_bytes);

/// The engine for a short copy, such as a fragment, to lines that another processor has read and reads next,
/// with or without a shared cache.
Engine choose_for_reader(size_t bytes, bool cache_shared);

}  // namespace hearth::copy
