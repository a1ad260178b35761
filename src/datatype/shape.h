// The shape of a datatype: how large one element is, where its data lie and where the next element begins
// (MPI 5.0 sections 5.1.1 and 5.1.6). Constructors put the shapes of old types together here, whatever the
// constructor is called; every sum and product is checked against 64 bits.
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
  /// The bounds come from MPI_Type_create_resized, a subarray or a distributed array, in this type or one
  /// that it is made of: the standard's markers, which count instead of the bounds of the data.
  bool bounds_given = false;
  /// What the C compiler asks of the predefined types in it: bounds that are not given are rounded to it.
  uint8_t alignment = 1;
  /// Where the data lie; nullptr exactly where `contiguous`.
  LayoutPointer layout;
};

/// `count` copies, `stride` bytes apart; false when a number leaves 64 bits. Pre: count >= 0.
[[nodiscard]] bool repeat(const Shape& unit, Count count, int64_t stride, Shape& result);

/// The same data with bounds that are given. Pre: the upper bound fits into 64 bits.
Shape with_bounds(const Shape& shape, int64_t lower_bound, int64_t extent);

/// A shape made of others, each with its displacement.
class ShapeJoiner {
 public:
  /// False when a number leaves 64 bits.
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
