// The predefined datatypes, MPI_DATATYPE_NULL's stand-in included. They are entered into
// objects::pools.predefined when the library is loaded, and never change but for names and attributes.
#pragma once

#include "datatype/type.h"
#include "mpi.h"

namespace hearth::datatype {

/// Enters the predefined types into objects::pools.predefined. The first call does it, others do nothing.
void enter_predefined_types();

/// The predefined type of an ABI constant (MPI_INT, ...); nullptr when the constant names none.
Type* predefined_type(uint32_t constant);
/// Pre: it names one.
inline Type& predefined_type(MPI_Datatype handle) {
  return *predefined_type(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)));
}

/// A type without size that stands for MPI_DATATYPE_NULL where a datatype argument does not count.
Type& null_type();

}  // namespace hearth::datatype
