// MPI_MINLOC and MPI_MAXLOC on the unnamed pairs of MPI_Type_get_value_index (MPI 5.0 section 6.9.4): the
// value is any number, the index an integer of any width.
#include <cstring>

#include "datatype/reduce.h"

namespace hearth::datatype {
namespace {

using objects::OpKind;

/// An unsigned number that orders like the index.
uint64_t order_of(const std::byte* place, int64_t bytes, bool has_sign) {
  uint64_t value = 0;
  switch (bytes) {
    case 1:
      value = static_cast<uint64_t>(*place) << 56;
      break;
    case 2: {
      uint16_t index;
      std::memcpy(&index, place, sizeof index);
      value = static_cast<uint64_t>(index) << 48;
      break;
    }
    case 4: {
      uint32_t index;
      std::memcpy(&index, place, sizeof index);
      value = static_cast<uint64_t>(index) << 32;
      break;
    }
    default:
      std::memcpy(&value, place, sizeof value);
      break;
  }
  return has_sign ? value ^ (uint64_t{1} << 63) : value;
}

struct PairLayout {
  int64_t extent;
  int64_t index_place;
  int64_t index_bytes;
  bool index_has_sign;
};

template <class Value>
void combine(OpKind op, const PairLayout& layout, const std::byte* left, const std::byte* right,
             std::byte* to, Count count) {
  const auto order_at = [&](const std::byte* pair) {
    return order_of(pair + layout.index_place, layout.index_bytes, layout.index_has_sign);
  };
  for (Count i = 0; i < count; ++i, left += layout.extent, right += layout.extent, to += layout.extent) {
    Value a;
    Value b;
    std::memcpy(&a, left, sizeof a);
    std::memcpy(&b, right, sizeof b);
    // Of equal values the lower index is taken.
    const bool left_wins =
        (op == OpKind::minloc ? a < b : b < a) || (a == b && order_at(left) < order_at(right));
    const std::byte* winner = left_wins ? left : right;
    if (winner == to) continue;
    std::memcpy(to, left_wins ? &a : &b, sizeof a);
    std::memcpy(to + layout.index_place, winner + layout.index_place,
                static_cast<size_t>(layout.index_bytes));
  }
}

using PairKernel = void(OpKind op, const PairLayout& layout, const std::byte* left, const std::byte* right,
                        std::byte* to, Count count);

PairKernel* pair_kernel(Element value) {
  switch (value) {
    case Element::int8:
      return combine<int8_t>;
    case Element::uint8:
      return combine<uint8_t>;
    case Element::int16:
      return combine<int16_t>;
    case Element::uint16:
      return combine<uint16_t>;
    case Element::int32:
      return combine<int32_t>;
    case Element::uint32:
      return combine<uint32_t>;
    case Element::int64:
      return combine<int64_t>;
    case Element::uint64:
      return combine<uint64_t>;
    case Element::float32:
      return combine<float>;
    case Element::float64:
      return combine<double>;
    case Element::float_long:
      return combine<long double>;
    default:
      return nullptr;
  }
}

bool has_sign(Element element) {
  return element == Element::int8 || element == Element::int16 || element == Element::int32 ||
         element == Element::int64;
}

}  // namespace

bool has_pair_kernel(Element value) {
  return pair_kernel(value) != nullptr;
}

void reduce_pairs(OpKind op, const Type& pair, const void* left, const void* right, void* to, Count count) {
  const Type& value = *pair.types[0];
  const Type& index = *pair.types[1];
  // The index is the last member of the pair.
  const PairLayout layout = {.extent = pair.extent,
                             .index_place = pair.true_extent - index.size,
                             .index_bytes = index.size,
                             .index_has_sign = has_sign(index.element)};
  pair_kernel(value.element)(op, layout, static_cast<const std::byte*>(left),
                             static_cast<const std::byte*>(right), static_cast<std::byte*>(to), count);
}

}  // namespace hearth::datatype
