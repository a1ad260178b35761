// Handles in Open MPI's ABI: addresses in C, small numbers in Fortran. The facade converts both kinds of
// handles, predefined and of the user. Included by fortran/handles.h, which has the list of types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi.h"

namespace hearth::fortran {

#define HEARTH_FORTRAN_HANDLE(name, Type, Function, pool) \
  inline MPI_##Type name##_in(int number) {               \
    return PMPI_##Function##_fromint(number);             \
  }                                                       \
  inline int name##_out(MPI_##Type handle) {              \
    return PMPI_##Function##_toint(handle);               \
  }
HEARTH_FORTRAN_HANDLES(HEARTH_FORTRAN_HANDLE)
#undef HEARTH_FORTRAN_HANDLE

/// A handle that no call writes.
template <class Handle>
Handle unwritten() {
  return reinterpret_cast<Handle>(intptr_t{-1});
}

/// Keys of attributes are the same numbers in both languages.
inline int keyval_in(int keyval) {
  return keyval;
}

}  // namespace hearth::fortran
