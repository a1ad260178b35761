// The comparison of handles for the operators == and /= of the modules, and MPI_F_SYNC_REG. Each Fortran
// library includes this in one source file, which defines the names of its modules as aliases: an alias must
// be in the object file of its routine.
#pragma once

#include "fortran/convert.h"

extern "C" {

HEARTH_FORTRAN int mpi_handle_eq_(const int* a, const int* b) {
  return hearth::fortran::logical_out(*a == *b);
}
HEARTH_FORTRAN int mpi_handle_ne_(const int* a, const int* b) {
  return hearth::fortran::logical_out(*a != *b);
}

// MPI_F_sync_reg, MPI 5.0 section 19.1.17: the compiler must assume that the call accesses the buffer.
HEARTH_FORTRAN void mpi_f_sync_reg_(void*) {}
HEARTH_FORTRAN_ALIAS("pmpi_f_sync_reg_", "mpi_f_sync_reg_");
HEARTH_FORTRAN_NAMES("mpi_f_sync_reg", "MPI_F_SYNC_REG");
HEARTH_FORTRAN_NAMES("pmpi_f_sync_reg", "PMPI_F_SYNC_REG");
}

/// Calls the macro `row` with each type of handle that has the operators.
#define HEARTH_FORTRAN_COMPARED_HANDLES(row)                                                               \
  row(comm) row(datatype) row(errhandler) row(file) row(group) row(info) row(message) row(op) row(request) \
      row(session) row(win)
