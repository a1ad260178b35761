// The predefined datatypes, including a substitute for MPI_DATATYPE_NULL. They are entered into
// objects::pools.predefined when the library is loaded. Afterwards only their names and attributes change.
#pragma once

#include "datatype/type.h"
#include "mpi.h"

namespace hearth::datatype {

/// Enters the predefined types into objects::pools.predefined. Calls after the first do nothing.
void enter_predefined_types();

/// The predefined type of an ABI constant (MPI_INT, ...); nullptr if the constant is no datatype.
Type* predefined_type(uint32_t constant);
/// Pre: the handle is a predefined datatype.
inline Type& predefined_type(MPI_Datatype handle) {
  return *predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

/// A type of size 0 that replaces MPI_DATATYPE_NULL where a datatype argument is not significant.
Type& null_type();

}  // namespace hearth::datatype
