// Access counters of shared memory in collectives, for tests: tests/counts builds this folder with the
// counters enabled (base/counted.h). In all other builds these functions are empty.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/counted.h"

namespace hearth::coll::access_counters {

// Defined by the counting program. Addresses are in the shared segment.
void wrote(const void* address, int64_t bytes);
void read(const void* address, int64_t bytes);
void copied(int64_t bytes);
void reduced(int64_t bytes);
void woke();

/// This rank has stored data that other ranks read.
inline void writes(const void* address, int64_t bytes) {
  if constexpr (kCounted) wrote(address, bytes);
}
/// This rank has loaded data that another rank stored; unsuccessful polls do not count.
inline void reads(const void* address, int64_t bytes) {
  if constexpr (kCounted) read(address, bytes);
}
inline void copies(int64_t bytes) {
  if constexpr (kCounted) copied(bytes);
}
/// Bytes of the result, once for each operand beyond the first.
inline void reduces(int64_t bytes) {
  if constexpr (kCounted) reduced(bytes);
}
inline void wakes() {
  if constexpr (kCounted) woke();
}

}  // namespace hearth::coll::access_counters
