// Records that one process writes and other processes read at any time. A seqlock version detects torn reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/atomic.h"

namespace hearth::check {

/// Pre: one thread per process writes records at a time. Record::version is the first member, and even.
template <class Record>
void publish_record(Record& place, Record record) {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % sizeof(uint64_t) == 0);
  const uint64_t before = atomic::load_relaxed(place.version);
  atomic::store_relaxed(place.version, before + 1);
  // Keeps the stores below after the odd version; pairs with the fence before the second load in
  // read_record().
  atomic::fence_full();
  uint64_t words[sizeof(Record) / sizeof(uint64_t)];
  std::memcpy(words, &record, sizeof record);
  auto* to = reinterpret_cast<uint64_t*>(&place);
  for (size_t i = 1; i < std::size(words); ++i) atomic::store_relaxed(to[i], words[i]);
  // Pairs with the acquire load in read_record().
  atomic::store_release(place.version, before + 2);
}

/// False if there is no record or it is being written.
template <class Record>
bool read_record(const Record& place, Record& record) {
  const uint64_t version = atomic::load_acquire(place.version);
  if (version == 0 || (version & 1) != 0) return false;
  uint64_t words[sizeof(Record) / sizeof(uint64_t)];
  const auto* from = reinterpret_cast<const uint64_t*>(&place);
  for (size_t i = 1; i < std::size(words); ++i) words[i] = atomic::load_relaxed(from[i]);
  atomic::fence_full();
  words[0] = version;
  std::memcpy(static_cast<void*>(&record), words, sizeof record);
  return atomic::load_relaxed(place.version) == version;
}

}  // namespace hearth::check
