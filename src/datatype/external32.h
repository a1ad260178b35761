// The portable representation "external32" (MPI 5.0 section 14.5.2): big-endian, two's complement, IEEE
// formats, each predefined type with a width of its own, no gaps. MPI_LONG has 4 bytes there, MPI_WCHAR 2,
// long double 16 (binary128).
//
// Called under the library's lock; nothing allocates.
#pragma once

#include <cstddef>

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"

namespace hearth::datatype {

/// The bytes that one element of `type` takes in external32.
int64_t external32_bytes(const Type& type);

/// MPI_ERR_CONVERSION when a number does not fit: what was packed before it stays.
/// Pre: `packed` has room for count * external32_bytes(type).
Status pack_external32(const Type& type, const void* buffer, Count count, std::byte* packed);
Status unpack_external32(const Type& type, void* buffer, Count count, const std::byte* packed);

}  // namespace hearth::datatype
