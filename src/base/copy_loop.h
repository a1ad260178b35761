// The loops of the vector engines, as templates over the instruction set. Instantiated only in files that are
// compiled for one set (copy_loop_*.cpp) and define its vector type; copy_engine.cpp chooses among them at
// run time. Tests and benchmarks call each.
//
// These files may use instructions that the processor lacks. So they must not emit a function that the linker
// could use in place of another file's: the Vector types are local to their file, which makes the template
// instances local too, and no inline function of another header is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::copy {

constexpr size_t kLineBytes = 64;
constexpr size_t kPageBytes = 4096;

/// The loops of one instruction set.
struct VectorLoops {
  const char* name;
  /// Pre: more than a line of bytes, no overlap.
  void (*cached)(std::byte* to, const std::byte* from, size_t bytes);
  /// Alternates between four pages of the source, a line of each at a time. The processor prefetches in each
  /// page that is being read, so more lines are in flight from another processor's cache. Pre: as above.
  void (*four_pages)(std::byte* to, const std::byte* from, size_t bytes);
  /// Non-temporal stores, then the fence that lets a later release store publish them. Pre: whole lines, `to`
  /// aligned to a line, no overlap. Null if the instruction set has no such stores.
  void (*streaming)(std::byte* to, const std::byte* from, size_t bytes);
};

const VectorLoops& baseline_loops();
/// On x86 only.
const VectorLoops& avx2_loops();
const VectorLoops& avx512_loops();

/// The loops that this processor supports, best first, the baseline last, then null.
const VectorLoops* const* usable_loops();

/// How far ahead of the copy the source is prefetched. The processor's own prefetching stops at the end of a
/// page, and data that another processor has just written have a long latency. 256 bytes was the best of 0 to
/// 2048, or as good, with and without a shared cache; 1024 and more lose a tenth at 1 MiB (development
/// machine, November 2026).
constexpr size_t kAheadBytes = 256;

/// `Instructions` has the type Vector, and stream() and finish() if it has non-temporal stores.
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
  // Four loads, then four stores: more loads are in flight than if they alternated.
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

  // The last vector ends where the copy ends, so some bytes are written twice, with the same values.
  [[gnu::always_inline]] static void finish_at(std::byte* to, const std::byte* from, size_t done,
                                               size_t bytes) {
    for (; bytes - done > kVectorBytes; done += kVectorBytes) store(to + done, load(from + done));
    store(to + bytes - kVectorBytes, load(from + bytes - kVectorBytes));
  }

  static void cached(std::byte* to, const std::byte* from, size_t bytes) {
    // One unaligned vector first, then aligned stores, which cross no line.
    store(to, load(from));
    size_t done = kVectorBytes - reinterpret_cast<uintptr_t>(to) % kVectorBytes;
    // Does not prefetch beyond the end: those lines may belong to another process that is about to write
    // them.
    for (; bytes - done >= kAheadBytes + kStepBytes; done += kStepBytes) {
      prefetch_step(from + done + kAheadBytes);
      step(to + done, from + done);
    }
    for (; bytes - done >= kStepBytes; done += kStepBytes) step(to + done, from + done);
    finish_at(to, from, done, bytes);
  }

  // No software prefetch: with it, four pages take as long as one.
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

  // No prefetch: it gained nothing here.
  static void streaming(std::byte* to, const std::byte* from, size_t bytes) {
    for (size_t done = 0; done < bytes; done += kLineBytes) {
      for (size_t part = 0; part < kLineBytes; part += kVectorBytes)
        Instructions::stream(to + done + part, load(from + done + part));
    }
    Instructions::finish();
  }
};

}  // namespace hearth::copy
