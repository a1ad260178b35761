// The shape of a datatype: the size of an element, the layout of its data, and the distance to the next
// element (MPI 5.0 sections 5.1.1 and 5.1.6). All constructors combine the shapes of their old types here.
// Every sum and product is checked for 64-bit overflow.
//
// Called under the library's lock.
#pragma once

#include <cstdint>

#include "base/counts.h"
#include "datatype/layout.h"

namespace hearth::datatype {

struct Shape {
  int64_t size = 0;    // bytes of data in one element
  int64_t extent = 0;  // distance in memory from one element to the next
  int64_t lower_bound = 0;
  int64_t true_extent = 0;
  int64_t true_lower_bound = 0;
  /// The data of n elements are n*size consecutive bytes that start at buffer + true_lower_bound.
  bool contiguous = true;
  /// The bounds were given by MPI_Type_create_resized, a subarray or a distributed array, in this type or in
  /// one that it is made of (the standard's markers). They replace the bounds of the data.
  bool bounds_given = false;
  /// The largest C alignment of the predefined types in it; an extent that is not given is rounded up to it.
  uint8_t alignment = 1;
  /// The layout of the data; nullptr if and only if `contiguous`.
  LayoutPointer layout;
};

/// `count` copies, `stride` bytes apart; false on 64-bit overflow. Pre: count >= 0.
[[nodiscard]] bool repeat(const Shape& unit, Count count, int64_t stride, Shape& result);

/// The same data with given bounds. Pre: the upper bound fits into 64 bits.
Shape with_bounds(const Shape& shape, int64_t lower_bound, int64_t extent);

/// Joins shapes, each at its displacement.
class ShapeJoiner {
 public:
  /// False on 64-bit overflow.
  [[nodiscard]] bool add(const Shape& piece, int64_t displacement);
  [[nodiscard]] bool finish(Shape& result);

 private:
  struct Range {
    int64_t low = 0;
    int64_t high = 0;
    bool any = false;

    void cover(int64_t from, int64_t to);
  };

  Range data_;
  Range bounds_;
  int64_t size_ = 0;
  uint8_t alignment_ = 1;
  LayoutBuilder layout_;
};

}  // namespace hearth::datatype
