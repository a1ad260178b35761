// The loops of the vector engines, once for every instruction set. Instantiated only by the files that are
// compiled for one (copy_loop_*.cpp), each of which says what a vector is; copy_engine.cpp chooses from what
// they offer at run time. Tests and benchmarks call each.
//
// Those files are compiled for processors that this one may not be. So nothing here may leave a function
// behind that the linker could take for others': Vector types are local to their file, which makes the
// templates local too, and no inline function of another header is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::copy {

constexpr size_t kLineBytes = 64;
constexpr size_t kPageBytes = 4096;

/// What one instruction set offers.
struct VectorLoops {
  const char* name;
  /// Pre: more than a line of bytes, no overlap.
  void (*cached)(std::byte* to, const std::byte* from, size_t bytes);
  /// Four pages of the source in turns, a line of each: the processor fetches ahead in every page that is
  /// being read, so more lines of another processor's cache are under way at once. Pre: as above.
  void (*four_pages)(std::byte* to, const std::byte* from, size_t bytes);
  /// Past the caches; ends with whatever it takes that a later release store covers its stores. Pre: whole
  /// lines, `to` at the beginning of one, no overlap. Null where there are no such stores.
  void (*streaming)(std::byte* to, const std::byte* from, size_t bytes);
};

const VectorLoops& baseline_loops();
/// On x86 only.
const VectorLoops& avx2_loops();
const VectorLoops& avx512_loops();

/// What this processor can run, by its own word: the best first, the baseline last. The place after the last
/// holds null.
const VectorLoops* const* usable_loops();

/// How far ahead of the copying the source is fetched. Behind the end of a page the processor does not fetch
/// by itself, and data that another processor has just written takes long to come. 256 bytes was the best of
/// 0 to 2048 or as good, near and far; 1024 and more lose a tenth at 1 MiB (development machine, November
/// 2026).
constexpr size_t kAheadBytes = 256;

/// `Instructions` has the type Vector, and stream() and finish() where it has stores past the caches.
template <class Instructions>
struct Loop {
  using Vector = typename Instructions::Vector;
  static constexpr size_t kVectorBytes = sizeof(Vector);
  static constexpr size_t kStepBytes = 4 * kVectorBytes;

  [[gnu::always_inline]] static Vector load(const std::byte* from) {
    Vector vector;
    __builtin_memcpy(&vector, from, sizeof vector);
    return vector;
  }
  [[gnu::always_inline]] static void store(std::byte* to, Vector vector) {
    __builtin_memcpy(to, &vector, sizeof vector);
  }
  [[gnu::always_inline]] static void prefetch_step(const std::byte* from) {
#pragma GCC unroll 4
    for (size_t line = 0; line < kStepBytes; line += kLineBytes) __builtin_prefetch(from + line, 0, 3);
  }
  // Four loads, then four stores: more of them are under way at once than in turns.
  [[gnu::always_inline]] static void step(std::byte* to, const std::byte* from) {
    const Vector first = load(from);
    const Vector second = load(from + kVectorBytes);
    const Vector third = load(from + 2 * kVectorBytes);
    const Vector fourth = load(from + 3 * kVectorBytes);
    store(to, first);
    store(to + kVectorBytes, second);
    store(to + 2 * kVectorBytes, third);
    store(to + 3 * kVectorBytes, fourth);
  }

  // At last one vector that ends where the copy ends: some bytes are written twice, and the same.
  [[gnu::always_inline]] static void finish_at(std::byte* to, const std::byte* from, size_t done,
                                               size_t bytes) {
    for (; bytes - done > kVectorBytes; done += kVectorBytes) store(to + done, load(from + done));
    store(to + bytes - kVectorBytes, load(from + bytes - kVectorBytes));
  }

  static void cached(std::byte* to, const std::byte* from, size_t bytes) {
    // One vector as the addresses are, then stores that cross no line.
    store(to, load(from));
    size_t done = kVectorBytes - reinterpret_cast<uintptr_t>(to) % kVectorBytes;
    // Lines behind the end may be somebody else's, who is about to write them: they are not fetched.
    for (; bytes - done >= kAheadBytes + kStepBytes; done += kStepBytes) {
      prefetch_step(from + done + kAheadBytes);
      step(to + done, from + done);
    }
    for (; bytes - done >= kStepBytes; done += kStepBytes) step(to + done, from + done);
    finish_at(to, from, done, bytes);
  }

  // Without a word about what comes next: with it, the four take as long as one.
  static void four_pages(std::byte* to, const std::byte* from, size_t bytes) {
    constexpr size_t kRuns = 4;
    store(to, load(from));
    size_t done = kVectorBytes - reinterpret_cast<uintptr_t>(to) % kVectorBytes;
    while (bytes - done >= kRuns * kLineBytes) {
      const size_t quarter = (bytes - done) / (kRuns * kLineBytes) * kLineBytes;
      const size_t run = quarter < kPageBytes ? quarter : kPageBytes;
      for (const size_t end = done + run; done < end; done += kLineBytes) {
#pragma GCC unroll 4
        for (size_t line = done; line < done + kRuns * run; line += run) {
#pragma GCC unroll 4
          for (size_t part = line; part < line + kLineBytes; part += kVectorBytes)
            store(to + part, load(from + part));
        }
      }
      done += (kRuns - 1) * run;
    }
    finish_at(to, from, done, bytes);
  }

  // Without fetching ahead: it gained nothing here.
  static void streaming(std::byte* to, const std::byte* from, size_t bytes) {
    for (size_t done = 0; done < bytes; done += kLineBytes) {
      for (size_t part = 0; part < kLineBytes; part += kVectorBytes)
        Instructions::stream(to + done + part, load(from + done + part));
    }
    Instructions::finish();
  }
};

}  // namespace hearth::copy
