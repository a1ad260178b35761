// Datatypes. A type has a size and an extent and packs or unpacks any range of its packed bytes, so that
// transports do not depend on datatypes.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/counts.h"
#include "base/status.h"
#include "datatype/shape.h"
#include "objects/attribute.h"
#include "objects/object.h"

namespace hearth::datatype {

/// The machine representation of one element of a predefined type, on which reductions operate.
enum class Element : uint8_t {
  none,  // derived, or a type that no reduction accepts (MPI_PACKED)
  bytes,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  int128,
  float16,
  float32,
  float64,
  float_long,
  float128,
  complex32,
  complex64,
  complex_long,
  complex128,
  complex_half,
  boolean8,  // C bool
  logical8,
  logical16,
  logical32,
  logical64,
  logical128,  // Fortran LOGICAL of a width in bits
  character,   // MPI_WCHAR, MPI_CHARACTER: no reduction
  float_int,
  double_int,
  long_int,
  int_int,
  short_int,
  long_double_int,  // pairs for MINLOC and MAXLOC
  real_real,
  double_double,  // Fortran pairs
  value_index,    // a pair of MPI_Type_get_value_index: its members are in Type::types
  // MPI 5.0 section 6.9.2 treats MPI_CHAR as text, without reductions. Programs reduce it as the small
  // integer that it is in C, and other libraries accept that.
  c_char = CHAR_MIN < 0 ? int8 : uint8
};

struct Type : objects::Object, Shape {
  bool committed = false;
  bool supported = true;   // false for predefined types that this compiler lacks: size is MPI_UNDEFINED
  bool permanent = false;  // made once by the library, such as the types of MPI_Type_create_f90_real
  Element element = Element::none;

  // The arguments of the constructor of a derived type, for MPI_Type_get_envelope and _contents. The large
  // form of a constructor stores its counts and addresses in `counts`.
  int combiner = 0;
  std::vector<int> integers;
  std::vector<int64_t> counts;
  std::vector<int64_t> addresses;
  std::vector<Type*> types;  // one reference held on each

  std::string name;
  objects::Attributes attributes;

  /// Predefined in the sense of the standard: also if the type has no constant of its own.
  bool is_predefined() const { return predefined != 0 || permanent; }
};

/// Whether the data of `count` elements are consecutive bytes that start at buffer + true_lower_bound.
inline bool is_one_run(const Type& type, Count count) {
  return type.contiguous || (count == 1 && type.layout->one_block());
}

/// Copies packed bytes [offset, offset + bytes) of the elements at `buffer` to `packed`. The caller ensures
/// that the range is within the elements.
void pack(const Type& type, const void* buffer, int64_t offset, void* packed, size_t bytes);
/// The reverse: copies `bytes` packed bytes at position `offset` of the message to the elements at `buffer`.
void unpack(const Type& type, void* buffer, int64_t offset, const void* packed, size_t bytes);

/// Copies elements to elements of another type, like a message to the own process: MPI_ERR_TRUNCATE if not
/// all fit. The buffers do not overlap, or are the same.
Status copy(const void* from, Count from_count, const Type& from_type, void* to, Count to_count,
            const Type& to_type);

/// The memory that `count` elements occupy, from the first byte of data to the last.
struct Span {
  int64_t lowest;  // from the buffer address of MPI calls
  int64_t bytes;
};
Span span_of(const Type& type, Count count);

}  // namespace hearth::datatype
