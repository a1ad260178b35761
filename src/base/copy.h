// Copying of message bytes: short copies inline here, long ones by an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/copy_engine.h"

namespace hearth {

namespace detail {
template <class Word>
inline void copy_word(std::byte* to, const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  std::memcpy(to, &word, sizeof word);
}
// Two words that may overlap cover every length from one word to two.
template <class Word>
inline void copy_two(std::byte* to, const std::byte* from, size_t bytes) {
  Word first;
  Word last;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + bytes - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + bytes - sizeof last, &last, sizeof last);
}
struct Word16 {
  uint64_t half[2];
};
}  // namespace detail

/// Like memcpy, for at most 64 bytes: inline, because a call of memcpy takes longer than such a copy.
inline void copy_line(void* to_address, const void* from_address, size_t bytes) {
  auto* to = static_cast<std::byte*>(to_address);
  const auto* from = static_cast<const std::byte*>(from_address);
  if (bytes == 8) return detail::copy_word<uint64_t>(to, from);
  if (bytes > 32) {
    // 33 to 64 bytes: two words of 16 bytes from each end.
    detail::copy_word<detail::Word16>(to, from);
    detail::copy_word<detail::Word16>(to + 16, from + 16);
    detail::copy_two<detail::Word16>(to + bytes - 32, from + bytes - 32, 32);
  } else if (bytes >= 16) {
    detail::copy_two<detail::Word16>(to, from, bytes);
  } else if (bytes > 8) {
    detail::copy_two<uint64_t>(to, from, bytes);
  } else if (bytes >= 4) {
    detail::copy_two<uint32_t>(to, from, bytes);
  } else if (bytes > 0) {
    to[0] = from[0];
    if (bytes > 1) detail::copy_two<uint16_t>(to, from, bytes);
  }
}

/// Longer copies use the engines' loops, which touch the lines in the order in which they arrive from another
/// processor's cache. glibc's memcpy starts at both ends, which is a tenth slower from 256 bytes to 2 KiB,
/// with and without a shared cache. Beyond 2 KiB, memcpy uses `rep movsb` if the processor advertises it as
/// fast, and on some processors that is many times slower at some alignments (string_copy_collapses() in
/// copy_engine.cpp).
constexpr size_t kMemcpyBytesMax = 192;
/// Up to this length the cached engine is always right: the data fit the L1 cache, and a device has a higher
/// latency.
constexpr size_t kCachedBytesMax = 16384;

/// Like memcpy, for bytes that are read next on this processor or on one that shares a cache with it.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes <= 64) {
    copy_line(to, from, bytes);
  } else if (bytes <= kMemcpyBytesMax) {
    std::memcpy(to, from, bytes);
  } else if (bytes <= kCachedBytesMax) {
    copy::run_cached(to, from, bytes);
  } else {
    copy::run(copy::choose(bytes, true), to, from, bytes);
  }
}

/// Like memcpy, for a piece of a copy of `whole_bytes` bytes between this process's memory and memory that
/// another process writes or reads.
inline void copy_shared_bytes(void* to, const void* from, size_t bytes, uint64_t whole_bytes) {
  if (bytes < copy::kStringCopyBytesMin) return copy_bytes(to, from, bytes);
  copy::run(copy::choose_for_piece(bytes, whole_bytes), to, from, bytes);
}

}  // namespace hearth
