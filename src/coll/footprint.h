// What collectives do to memory that ranks share, told to whoever counts it: tests/counts has a build of this
// folder in which it is told (base/counted.h). Everywhere else these functions are nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/counted.h"

namespace hearth::coll::footprint {

// What the counting program defines. Addresses are in the shared segment.
void wrote(const void* address, int64_t bytes);
void read(const void* address, int64_t bytes);
void copied(int64_t bytes);
void reduced(int64_t bytes);
void looked_at_bell();

/// This rank has stored something that others read.
inline void writes(const void* address, int64_t bytes) {
  if constexpr (kCounted) wrote(address, bytes);
}
/// It has loaded what another one stored; looks that found nothing do not count.
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
inline void looks_at_bell() {
  if constexpr (kCounted) looked_at_bell();
}

}  // namespace hearth::coll::footprint
