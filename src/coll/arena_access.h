// Zero-copy exposure for the collectives of one region: the ranks that can read each other's arena slices,
// and the data that this process exposes in its own. Used under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/arena.h"
#include "shm/layout.h"

namespace hearth::coll {

class CollectiveRegion;

class ArenaAccess {
 public:
  /// `arena`: nullptr if there is none. Both outlive this object.
  ArenaAccess(const CollectiveRegion& region, shm::Arena* arena) : region_(region), arena_(arena) {}

  /// Publishes that this process reads the arena slices of the other ranks, if it can.
  void publish_reads() {
    if (__builtin_expect(!has_published_reads_, 0)) map_slices();
  }
  /// Lets all other ranks read these bytes in place until end(), one range at a time. False if they cannot;
  /// otherwise sets `offset` to their place in the arena slice.
  bool expose(const void* place, int64_t bytes, uint64_t& offset);
  void end() { exposure_.end(); }
  /// The data that a rank exposes at that offset in its arena slice.
  const std::byte* exposed_by(int rank, uint64_t offset, int64_t bytes) const;

 private:
  static constexpr size_t kReads = 2;  // index in RankSlots::consumed

  [[gnu::cold]] void map_slices();
  bool check_all_read();

  const CollectiveRegion& region_;
  shm::Arena* const arena_;
  shm::Exposure exposure_;
  bool has_published_reads_ = false;
  bool all_read_ = false;  // all other ranks read arena slices
};

}  // namespace hearth::coll
