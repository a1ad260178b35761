#include "datatype/shape.h"

#include <algorithm>
#include <utility>

namespace hearth::datatype {
namespace {

/// The lowest and the highest value of a bound among copies of a shape.
struct Reach {
  int64_t low = 0;
  int64_t high = 0;
};

bool reach(int64_t bound, Count count, int64_t stride, Reach& result) {
  int64_t last;
  if (__builtin_mul_overflow(count - 1, stride, &last) || __builtin_add_overflow(last, bound, &last))
    return false;
  result = {std::min(bound, last), std::max(bound, last)};
  return true;
}

/// The lowest `lower` and the extent of all copies, from the bounds of one copy.
bool reach_both(int64_t lower, int64_t upper, Count count, int64_t stride, int64_t& low, int64_t& extent) {
  Reach lows;
  Reach highs;
  if (!reach(lower, count, stride, lows) || !reach(upper, count, stride, highs)) return false;
  low = lows.low;
  return !__builtin_sub_overflow(highs.high, lows.low, &extent);
}

/// Bounds that are not given: those of the data, with the extent rounded up so that elements stay aligned.
bool take_natural_bounds(Shape& shape) {
  const int64_t beyond = shape.true_extent % shape.alignment;
  shape.lower_bound = shape.true_lower_bound;
  return !__builtin_add_overflow(shape.true_extent, beyond == 0 ? 0 : shape.alignment - beyond,
                                 &shape.extent);
}

/// Pre: everything but the layout is set, and the size is not 0.
void take_layout(Shape& shape, LayoutPointer layout) {
  shape.contiguous = layout->one_block() && shape.extent == shape.size;
  shape.layout = shape.contiguous ? nullptr : std::move(layout);
}

LayoutPointer layout_of(const Shape& shape) {
  return shape.contiguous ? make_block(shape.true_lower_bound, shape.size) : shape.layout;
}

}  // namespace

bool repeat(const Shape& unit, Count count, int64_t stride, Shape& result) {
  result = {};
  if (count == 0) return true;
  result.alignment = unit.alignment;
  result.bounds_given = unit.bounds_given;
  if (__builtin_mul_overflow(count, unit.size, &result.size)) return false;
  if (unit.size > 0 && !reach_both(unit.true_lower_bound, unit.true_lower_bound + unit.true_extent, count,
                                   stride, result.true_lower_bound, result.true_extent)) {
    return false;
  }
  if (unit.bounds_given) {
    if (!reach_both(unit.lower_bound, unit.lower_bound + unit.extent, count, stride, result.lower_bound,
                    result.extent)) {
      return false;
    }
  } else if (!take_natural_bounds(result)) {
    return false;
  }
  const bool touching = unit.contiguous && (count == 1 || stride == unit.size);
  if (result.size == 0 || (touching && result.extent == result.size)) return true;
  take_layout(result, repeat(layout_of(unit), count, stride));
  return true;
}

Shape with_bounds(const Shape& shape, int64_t lower_bound, int64_t extent) {
  Shape bounded = shape;
  bounded.bounds_given = true;
  bounded.lower_bound = lower_bound;
  bounded.extent = extent;
  if (shape.size > 0) take_layout(bounded, layout_of(shape));
  return bounded;
}

void ShapeJoiner::Range::cover(int64_t from, int64_t to) {
  low = any ? std::min(low, from) : from;
  high = any ? std::max(high, to) : to;
  any = true;
}

bool ShapeJoiner::add(const Shape& piece, int64_t displacement) {
  if (__builtin_add_overflow(size_, piece.size, &size_)) return false;
  int64_t from;
  int64_t to;
  if (piece.size > 0) {
    if (__builtin_add_overflow(piece.true_lower_bound, displacement, &from) ||
        __builtin_add_overflow(from, piece.true_extent, &to)) {
      return false;
    }
    data_.cover(from, to);
    alignment_ = std::max(alignment_, piece.alignment);
    if (piece.contiguous) {
      layout_.add_block(from, piece.size);
    } else {
      layout_.add_layout(displacement, piece.layout);
    }
  }
  if (piece.bounds_given) {
    if (__builtin_add_overflow(piece.lower_bound, displacement, &from) ||
        __builtin_add_overflow(from, piece.extent, &to)) {
      return false;
    }
    bounds_.cover(from, to);
  }
  return true;
}

bool ShapeJoiner::finish(Shape& result) {
  result = {};
  result.size = size_;
  result.alignment = alignment_;
  result.true_lower_bound = data_.low;
  result.bounds_given = bounds_.any;
  if (__builtin_sub_overflow(data_.high, data_.low, &result.true_extent)) return false;
  if (bounds_.any) {
    result.lower_bound = bounds_.low;
    if (__builtin_sub_overflow(bounds_.high, bounds_.low, &result.extent)) return false;
  } else if (!take_natural_bounds(result)) {
    return false;
  }
  if (size_ > 0) take_layout(result, layout_.finish());
  return true;
}

}  // namespace hearth::datatype
