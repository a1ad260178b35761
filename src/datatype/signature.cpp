#include "datatype/signature.h"

#include <algorithm>

#include "datatype/predefined.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

const Type* predefined(MPI_Datatype handle) {
  return predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

Members pair(MPI_Datatype first, MPI_Datatype second) {
  return {predefined(first), predefined(second)};
}

}  // namespace

Members members_of(const Type& type) {
  // A duplicate has the element of its old type. Its signature is found through the old type.
  if (type.combiner == MPI_COMBINER_DUP) return {nullptr, nullptr};
  switch (type.element) {
    case Element::float_int:
      return pair(MPI_FLOAT, MPI_INT);
    case Element::double_int:
      return pair(MPI_DOUBLE, MPI_INT);
    case Element::long_int:
      return pair(MPI_LONG, MPI_INT);
    case Element::int_int:
      return pair(MPI_INT, MPI_INT);
    case Element::short_int:
      return pair(MPI_SHORT, MPI_INT);
    case Element::long_double_int:
      return pair(MPI_LONG_DOUBLE, MPI_INT);
    case Element::real_real:
      return pair(MPI_REAL, MPI_REAL);
    case Element::double_double:
      return pair(MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION);
    default:
      return {nullptr, nullptr};
  }
}

Count block_length(const Type& type, size_t index) {
  if (type.combiner != MPI_COMBINER_STRUCT) return 1;  // the members of a value-index pair
  return type.counts.empty() ? type.integers[1 + index] : type.counts[1 + index];
}

Count basics_in(const Type& type) {
  if (type.size == 0) return 0;
  if (members_of(type).first != nullptr) return 2;
  if (type.types.empty()) return 1;
  if (type.types.size() == 1) return type.size / type.types[0]->size * basics_in(*type.types[0]);
  Count basics = 0;
  for (size_t i = 0; i < type.types.size(); ++i) basics += block_length(type, i) * basics_in(*type.types[i]);
  return basics;
}

bool basics_in_bytes(const Type& type, int64_t bytes, Count& basics) {
  basics = bytes / type.size * basics_in(type);
  int64_t rest = bytes % type.size;
  if (rest == 0) return true;
  Count more = 0;
  if (const Members members = members_of(type); members.first != nullptr) {
    basics += 1;
    return rest == members.first->size;
  }
  if (type.types.empty()) return false;
  for (size_t i = 0; rest > 0; ++i) {
    const Type& old = *type.types[i];
    if (old.size == 0) continue;
    // In a struct at most the bytes of this member, in other types all of them.
    const int64_t whole = type.types.size() == 1 ? rest : block_length(type, i) * old.size;
    const int64_t part = std::min(rest, whole);
    const bool exact = basics_in_bytes(old, part, more);
    basics += more;
    if (!exact) return false;
    rest -= part;
  }
  return true;
}

bool bytes_of_basics(const Type& type, Count basics, int64_t& bytes) {
  const Count each = basics_in(type);
  Count rest = basics % each;
  if (__builtin_mul_overflow(basics / each, type.size, &bytes)) return false;
  if (rest == 0) return true;
  int64_t more = 0;
  if (const Members members = members_of(type); members.first != nullptr) {
    more = members.first->size;
  } else {
    // Less than one element, so the bytes fit 64 bits.
    for (size_t i = 0; rest > 0; ++i) {
      const Type& old = *type.types[i];
      if (old.size == 0) continue;
      const Count whole = type.types.size() == 1 ? rest : block_length(type, i) * basics_in(old);
      const Count part = std::min(rest, whole);
      int64_t part_bytes = 0;
      if (!bytes_of_basics(old, part, part_bytes)) return false;
      more += part_bytes;
      rest -= part;
    }
  }
  return !__builtin_add_overflow(bytes, more, &bytes);
}

}  // namespace hearth::datatype
