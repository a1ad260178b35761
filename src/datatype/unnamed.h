// Predefined datatypes that have no constant of their own: Fortran's parametric types (MPI 5.0 section
// 19.1.6) and pairs of value and index (section 6.9.4). Each is made on the first request and keeps its
// handle from then on; it is committed and cannot be freed.
//
// Called under the library's lock.
#pragma once

#include "base/status.h"
#include "datatype/type.h"

namespace hearth::datatype {

// The kinds that GNU Fortran's selected_real_kind and selected_int_kind select on this machine. In the first
// two functions, one of `precision` and `range` may be MPI_UNDEFINED, as in selected_real_kind.
Status f90_real(int precision, int range, Type*& type);
Status f90_complex(int precision, int range, Type*& type);
Status f90_integer(int range, Type*& type);

/// The pair type for MPI_MINLOC and MPI_MAXLOC with the layout of a C struct of both types; nullptr if there
/// is none.
Status value_index(Type& value, Type& index, Type*& pair);

}  // namespace hearth::datatype
