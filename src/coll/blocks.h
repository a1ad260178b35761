// How a buffer is divided among ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/counts.h"
#include "datatype/type.h"

namespace hearth::coll {

/// The address `count` elements further.
inline std::byte* advance(void* buffer, const datatype::Type& type, Count count) {
  return static_cast<std::byte*>(buffer) + count * type.extent;
}
inline const std::byte* advance(const void* buffer, const datatype::Type& type, Count count) {
  return static_cast<const std::byte*>(buffer) + count * type.extent;
}

/// A rank's own block; `buffer` may be MPI_IN_PLACE.
struct OwnBlock {
  void* buffer;
  Count count;
  datatype::Type& type;

  int64_t bytes() const { return count * type.size; }
};

/// A buffer with a block for each rank. The arrays are read when a block is requested.
class RankBlocks {
 public:
  /// Blocks of `each` elements, one after another.
  RankBlocks(const void* buffer, Count each, datatype::Type& type)
      : buffer_(const_cast<void*>(buffer)), each_(each), type_(&type) {}
  /// Displacements in elements.
  RankBlocks(const void* buffer, CountArray counts, CountArray displacements, datatype::Type& type)
      : buffer_(const_cast<void*>(buffer)), counts_(counts), displacements_(displacements), type_(&type) {}
  /// Displacements in bytes; a type for each rank.
  RankBlocks(const void* buffer, CountArray counts, CountArray displacements, datatype::Type* const* types)
      : buffer_(const_cast<void*>(buffer)), counts_(counts), displacements_(displacements), types_(types) {}

  std::byte* place(int rank) const {
    if (types_ != nullptr) return static_cast<std::byte*>(buffer_) + displacements_[rank];
    return advance(buffer_, *type_, counts_.null() ? each_ * rank : displacements_[rank]);
  }
  /// Whether the data of all ranks are contiguous, block after block.
  bool one_after_another() const { return types_ == nullptr && counts_.null() && type_->contiguous; }
  Count count(int rank) const { return counts_.null() ? each_ : counts_[rank]; }
  datatype::Type& type(int rank) const { return types_ != nullptr ? *types_[rank] : *type_; }
  int64_t bytes(int rank) const { return count(rank) * type(rank).size; }

 private:
  void* buffer_;
  Count each_ = 0;
  CountArray counts_;
  CountArray displacements_;
  datatype::Type* type_ = nullptr;
  datatype::Type* const* types_ = nullptr;
};

/// `count` elements divided into one share per rank; the lengths differ by at most one element.
class Shares {
 public:
  Shares(Count count, int ranks) : each_(count / ranks), longer_(static_cast<int>(count % ranks)) {}

  Count begin(int share) const { return each_ * share + std::min(share, longer_); }
  Count count(int share) const { return each_ + (share < longer_ ? 1 : 0); }
  Count count_max() const { return count(0); }

 private:
  Count each_;
  int longer_;  // number of shares, from the first, that have one element more
};

}  // namespace hearth::coll
