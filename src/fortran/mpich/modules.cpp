// Procedures of MPICH's modules mpi_constants and mpi_sizeofs, which the module mpi includes, under the names
// that GNU Fortran gives them.
#include "fortran/convert.h"
#include "fortran/handle_comparison.h"

using namespace hearth::fortran;

extern "C" {

#define HEARTH_FORTRAN_OPERATORS(type)                                       \
  HEARTH_FORTRAN_ALIAS("__mpi_constants_MOD_" #type "eq", "mpi_handle_eq_"); \
  HEARTH_FORTRAN_ALIAS("__mpi_constants_MOD_" #type "neq", "mpi_handle_ne_");
HEARTH_FORTRAN_COMPARED_HANDLES(HEARTH_FORTRAN_OPERATORS)

// MPI_Sizeof of a scalar and of an array.
#define HEARTH_FORTRAN_SIZEOF(type, bytes)                                              \
  HEARTH_FORTRAN void mpi_sizeof_##type##_(const void*, int* size, int* ierror) {       \
    *size = bytes;                                                                      \
    leave(ierror, MPI_SUCCESS);                                                         \
  }                                                                                     \
  HEARTH_FORTRAN_ALIAS("__mpi_sizeofs_MOD_mpi_sizeof_" #type, "mpi_sizeof_" #type "_"); \
  HEARTH_FORTRAN_ALIAS("__mpi_sizeofs_MOD_mpi_sizeof_" #type "v", "mpi_sizeof_" #type "_");
HEARTH_FORTRAN_SIZEOF(ch, 1)
HEARTH_FORTRAN_SIZEOF(cx, 8)
HEARTH_FORTRAN_SIZEOF(d, 8)
HEARTH_FORTRAN_SIZEOF(i, 4)
HEARTH_FORTRAN_SIZEOF(i1, 1)
HEARTH_FORTRAN_SIZEOF(i2, 2)
HEARTH_FORTRAN_SIZEOF(i8, 8)
HEARTH_FORTRAN_SIZEOF(l, 4)
HEARTH_FORTRAN_SIZEOF(r, 4)

}  // extern "C"
