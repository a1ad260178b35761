// The type signature of the standard (MPI 5.0 section 5.1): the basic elements of a type in packed order,
// wherever they are in memory. Pairs such as MPI_DOUBLE_INT count as two elements.
//
// Called under the library's lock; nothing allocates.
#pragma once

#include "base/counts.h"
#include "datatype/type.h"

namespace hearth::datatype {

/// The two members of a pair type; nullptr twice for other types.
struct Members {
  const Type* first;
  const Type* second;
};
Members members_of(const Type& type);

/// The block length of member `index` of a struct.
Count block_length(const Type& type, size_t index);

/// Number of basic elements in one element.
Count basics_in(const Type& type);
/// Number of basic elements in the first `bytes` packed bytes of an array of elements; false if the last one
/// is incomplete. Pre: type.size > 0.
bool basics_in_bytes(const Type& type, int64_t bytes, Count& basics);
/// Packed bytes of the first `basics` basic elements of an array of elements; false on 64-bit overflow. Pre:
/// type.size > 0.
bool bytes_of_basics(const Type& type, Count basics, int64_t& bytes);

/// Calls visit(const Type& basic, Count count) for each run of equal basic elements of `count` elements, in
/// packed order, until it returns an error.
template <class Visit>
Status for_each_run(const Type& type, Count count, const Visit& visit) {
  if (count == 0 || type.size == 0) return {};
  const Members members = members_of(type);
  if (members.first != nullptr) {
    for (Count i = 0; i < count; ++i) {
      HEARTH_TRY(visit(*members.first, 1));
      HEARTH_TRY(visit(*members.second, 1));
    }
    return {};
  }
  if (type.types.empty()) return visit(type, count);
  if (type.types.size() == 1) {
    const Type& old = *type.types[0];
    return for_each_run(old, count * (type.size / old.size), visit);
  }
  for (Count i = 0; i < count; ++i) {
    for (size_t member = 0; member < type.types.size(); ++member)
      HEARTH_TRY(for_each_run(*type.types[member], block_length(type, member), visit));
  }
  return {};
}

}  // namespace hearth::datatype
