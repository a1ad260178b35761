// Counts, displacements and arrays of them, as passed to MPI calls: int in the small form of a function,
// MPI_Count or MPI_Aint in its _c form. The library has one code path, in 64 bits.
#pragma once

#include <cstdint>

namespace hearth {

/// Products and sums of arguments that may exceed 64 bits: saturated. No memory is that long, so a saturated
/// length fails when memory is allocated or a range is checked.
inline int64_t saturated_product(int64_t one, int64_t other) {
  int64_t product;
  if (!__builtin_mul_overflow(one, other, &product)) return product;
  return (one < 0) == (other < 0) ? INT64_MAX : -INT64_MAX;
}
inline int64_t saturated_sum(int64_t one, int64_t other) {
  int64_t sum;
  if (!__builtin_add_overflow(one, other, &sum)) return sum;
  return one > 0 ? INT64_MAX : -INT64_MAX;
}

using Count = int64_t;

/// Which form of an MPI function was called, for differences beyond the width of its counts.
enum class Form : bool { small, large };

/// A read-only view of an array of int or of 64-bit integers; element access widens.
class CountArray {
 public:
  CountArray() = default;
  // Implicit on purpose: entry points pass their arguments on.
  CountArray(const int* values) : values_(values), wide_(false) {}
  CountArray(const int64_t* values) : values_(values), wide_(true) {}

  int64_t operator[](int64_t index) const {
    return wide_ ? static_cast<const int64_t*>(values_)[index] : static_cast<const int*>(values_)[index];
  }
  /// Whether the caller passed a null pointer.
  bool null() const { return values_ == nullptr; }

 private:
  const void* values_ = nullptr;
  bool wide_ = false;
};

}  // namespace hearth
