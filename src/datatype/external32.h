// The portable representation "external32" (MPI 5.0 section 14.5.2): big-endian, two's complement, IEEE
// formats, a fixed width for each predefined type, no padding. MPI_LONG has 4 bytes, MPI_WCHAR 2, long double
// 16 (binary128).
//
// Called under the library's lock; nothing allocates.
#pragma once

#include <cstddef>

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"

namespace hearth::datatype {

/// Bytes of one element of `type` in external32.
int64_t external32_bytes(const Type& type);

/// MPI_ERR_CONVERSION if a number does not fit; the data packed before it remain. Pre: `packed` has room for
/// count * external32_bytes(type).
Status pack_external32(const Type& type, const void* buffer, Count count, std::byte* packed);
Status unpack_external32(const Type& type, void* buffer, Count count, const std::byte* packed);

}  // namespace hearth::datatype
