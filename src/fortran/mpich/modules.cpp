// Procedures of MPICH's modules mpi_constants and mpi_sizeofs, which the module mpi includes, under the names
// that GNU Fortran gives them; and MPI_F_SYNC_REG.
#include "fortran/convert.h"

using namespace hearth::fortran;

extern "C" {

HEARTH_FORTRAN int mpi_handle_eq_(const int* a, const int* b) {
  return logical_out(*a == *b);
}
HEARTH_FORTRAN int mpi_handle_ne_(const int* a, const int* b) {
  return logical_out(*a != *b);
}
#define HEARTH_FORTRAN_OPERATORS(type)                                       \
  HEARTH_FORTRAN_ALIAS("__mpi_constants_MOD_" #type "eq", "mpi_handle_eq_"); \
  HEARTH_FORTRAN_ALIAS("__mpi_constants_MOD_" #type "neq", "mpi_handle_ne_");
HEARTH_FORTRAN_OPERATORS(comm)
HEARTH_FORTRAN_OPERATORS(datatype)
HEARTH_FORTRAN_OPERATORS(errhandler)
HEARTH_FORTRAN_OPERATORS(file)
HEARTH_FORTRAN_OPERATORS(group)
HEARTH_FORTRAN_OPERATORS(info)
HEARTH_FORTRAN_OPERATORS(message)
HEARTH_FORTRAN_OPERATORS(op)
HEARTH_FORTRAN_OPERATORS(request)
HEARTH_FORTRAN_OPERATORS(session)
HEARTH_FORTRAN_OPERATORS(win)

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

HEARTH_FORTRAN void mpi_f_sync_reg_(void*) {}
HEARTH_FORTRAN_ALIAS("pmpi_f_sync_reg_", "mpi_f_sync_reg_");
HEARTH_FORTRAN_NAMES("mpi_f_sync_reg", "MPI_F_SYNC_REG");
HEARTH_FORTRAN_NAMES("pmpi_f_sync_reg", "PMPI_F_SYNC_REG");

}  // extern "C"
