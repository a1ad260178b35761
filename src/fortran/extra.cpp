// Routines that exist only in Fortran: comparison of handles, conversion of statuses between the two modules,
// sizes of variables.
#include "fortran/convert.h"
#include "fortran/handle_comparison.h"
#include "fortran/section.h"

using namespace hearth::fortran;

extern "C" {

// MPI_Status_f2f08 and MPI_Status_f082f, MPI 5.0 section 19.3.5: both statuses are the same eight integers.
#define HEARTH_FORTRAN_STATUS(name)                                    \
  HEARTH_FORTRAN void name##_(const int* from, int* to, int* ierror) { \
    std::memmove(to, from, sizeof(MPI_Status));                        \
    leave(ierror, MPI_SUCCESS);                                        \
  }                                                                    \
  HEARTH_FORTRAN_ALIAS(#name "_f08_", #name "_");
HEARTH_FORTRAN_STATUS(mpi_status_f2f08)
HEARTH_FORTRAN_STATUS(mpi_status_f082f)
HEARTH_FORTRAN_STATUS(pmpi_status_f2f08)
HEARTH_FORTRAN_STATUS(pmpi_status_f082f)

// MPI_Sizeof: the size of one element, in bytes.
HEARTH_FORTRAN void mpi_sizeof_f08ts_(const Descriptor* x, int* size, int* ierror) {
  *size = static_cast<int>(x->elem_len);
  leave(ierror, MPI_SUCCESS);
}
HEARTH_FORTRAN void pmpi_sizeof_f08ts_(const Descriptor* x, int* size, int* ierror) {
  mpi_sizeof_f08ts_(x, size, ierror);
}

HEARTH_FORTRAN void mpi_f_sync_reg_f08ts_(const Descriptor*) {}
HEARTH_FORTRAN_ALIAS("mpi_f_sync_reg_f08_", "mpi_f_sync_reg_");
HEARTH_FORTRAN_ALIAS("pmpi_f_sync_reg_f08_", "mpi_f_sync_reg_");
HEARTH_FORTRAN_ALIAS("pmpi_f_sync_reg_f08ts_", "mpi_f_sync_reg_f08ts_");

// The operators == and /= of all types of handles.
#define HEARTH_FORTRAN_OPERATORS(type)                         \
  HEARTH_FORTRAN_ALIAS("mpi_" #type "_eq_", "mpi_handle_eq_"); \
  HEARTH_FORTRAN_ALIAS("mpi_" #type "_ne_", "mpi_handle_ne_");
HEARTH_FORTRAN_COMPARED_HANDLES(HEARTH_FORTRAN_OPERATORS)

}  // extern "C"
