// How a buffer is divided among ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/counts.h"
#include "datatype/type.h"

namespace hearth::coll {

/// The address `count` elements on.
inline std::byte* advance(void* buffer, const datatype::Type& type, Count count) {
  return static_cast<std::byte*>(buffer) + count * type.extent;
}
inline const std::byte* advance(const void* buffer, const datatype::Type& type, Count count) {
  return static_cast<const std::byte*>(buffer) + count * type.extent;
}

/// `count` elements in as many shares as there are ranks, equal but for one element.
class Shares {
 public:
  Shares(Count count, int ranks) : each_(count / ranks), longer_(static_cast<int>(count % ranks)) {}

  Count begin(int share) const { return each_ * share + std::min(share, longer_); }
  Count count(int share) const { return each_ + (share < longer_ ? 1 : 0); }
  Count count_max() const { return count(0); }

 private:
  Count each_;
  int longer_;  // so many shares, the first ones, have one element more
};

}  // namespace hearth::coll
