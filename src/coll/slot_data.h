// Copies between the slots of small collectives and the user's buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/copy.h"
#include "datatype/reduce.h"
#include "datatype/type.h"
#include "objects/op.h"

namespace hearth::coll {

/// The first byte of the data of contiguous elements.
inline const std::byte* data_of(const void* elements, const datatype::Type& type) {
  return static_cast<const std::byte*>(elements) + type.true_lower_bound;
}
inline std::byte* data_of(void* elements, const datatype::Type& type) {
  return static_cast<std::byte*>(elements) + type.true_lower_bound;
}

inline void pack_all(const void* elements, const datatype::Type& type, std::byte* packed, int64_t bytes) {
  if (__builtin_expect(type.contiguous, 1)) {
    copy_bytes(packed, data_of(elements, type), static_cast<size_t>(bytes));
  } else {
    datatype::pack(type, elements, 0, packed, static_cast<size_t>(bytes));
  }
}

inline void unpack_all(const std::byte* packed, void* elements, const datatype::Type& type, int64_t bytes) {
  if (__builtin_expect(type.contiguous, 1)) {
    copy_bytes(data_of(elements, type), packed, static_cast<size_t>(bytes));
  } else {
    datatype::unpack(type, elements, 0, packed, static_cast<size_t>(bytes));
  }
}

/// Whether the library's reduction kernels can use elements where they are in a slot, aligned to 8 bytes.
inline bool folds_in_place(const objects::Op& op, const datatype::Type& type) {
  return op.kind != objects::OpKind::user && type.predefined != 0 && type.size <= 8;
}

}  // namespace hearth::coll
