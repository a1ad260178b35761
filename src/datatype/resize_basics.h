// A datatype with other sizes of its basic elements: the layout of data in a file whose representation is not
// that of memory (MPI 5.0 section 14.5).
//
// Called under the library's lock.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "datatype/type.h"

namespace hearth::datatype {

/// The bytes of one element of a predefined type.
using SizeOfBasic = std::function<Status(const Type& basic, int64_t& bytes)>;

/// Repeats the construction of `type` with bytes in the place of predefined types. Counts, and displacements
/// in elements, refer to the new sizes; displacements, bounds and strides in bytes stay. The caller frees the
/// result by free_handle().
Status resize_basics(const Type& type, const SizeOfBasic& size_of, Type*& made);

}  // namespace hearth::datatype
