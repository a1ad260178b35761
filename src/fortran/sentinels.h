// The variables of Fortran whose addresses stand for constants of C: MPI_BOTTOM, MPI_IN_PLACE and others.
//
// mpif.h has each in a COMMON block, the modules as a variable with the name of the block; so a program may
// define a variable itself (a COMMON block of an executable) and precede this library's. The sizes are
// exactly those of the COMMON blocks: the linker warns about any difference.
#pragma once

#include "mpi.h"

#define HEARTH_FORTRAN_VARIABLE [[gnu::visibility("default")]]

extern "C" {
HEARTH_FORTRAN_VARIABLE extern const int mpi_fortran_bottom_;
HEARTH_FORTRAN_VARIABLE extern const int mpi_fortran_in_place_;
HEARTH_FORTRAN_VARIABLE extern const int mpi_fortran_buffer_automatic_;
HEARTH_FORTRAN_VARIABLE extern const int mpi_fortran_status_ignore_[MPI_F_STATUS_SIZE];
HEARTH_FORTRAN_VARIABLE extern const int mpi_fortran_statuses_ignore_[MPI_F_STATUS_SIZE];
HEARTH_FORTRAN_VARIABLE extern const int mpi_fortran_errcodes_ignore_;
HEARTH_FORTRAN_VARIABLE extern const int mpi_fortran_unweighted_;
HEARTH_FORTRAN_VARIABLE extern const int mpi_fortran_weights_empty_;
HEARTH_FORTRAN_VARIABLE extern const char mpi_fortran_argv_null_;
HEARTH_FORTRAN_VARIABLE extern const char mpi_fortran_argvs_null_;
}

namespace hearth::fortran {

inline bool is_in_place(const void* buffer) {
  return buffer == &mpi_fortran_in_place_;
}

/// A buffer, which may be MPI_BOTTOM.
inline void* buffer_in(const void* buffer) {
  if (buffer == &mpi_fortran_bottom_) [[unlikely]]
    return MPI_BOTTOM;
  return const_cast<void*>(buffer);
}

/// A buffer of a collective operation, which may be MPI_IN_PLACE as well.
inline void* place_in(const void* buffer) {
  if (is_in_place(buffer)) [[unlikely]]
    return MPI_IN_PLACE;
  return buffer_in(buffer);
}

/// The buffer of MPI_Buffer_attach.
inline void* attached_in(const void* buffer) {
  if (buffer == &mpi_fortran_buffer_automatic_) return MPI_BUFFER_AUTOMATIC;
  return const_cast<void*>(buffer);
}

/// A status has the same eight integers in both languages, so that it is never copied.
inline MPI_Status* status_in(int* status) {
  return status == mpi_fortran_status_ignore_ ? MPI_STATUS_IGNORE : reinterpret_cast<MPI_Status*>(status);
}
inline const MPI_Status* status_in(const int* status) {
  return status == mpi_fortran_status_ignore_ ? nullptr : reinterpret_cast<const MPI_Status*>(status);
}
inline MPI_Status* statuses_in(int* statuses) {
  return statuses == mpi_fortran_statuses_ignore_ ? MPI_STATUSES_IGNORE
                                                  : reinterpret_cast<MPI_Status*>(statuses);
}

template <class Int>
Int* weights_in(Int* weights) {
  if (weights == &mpi_fortran_unweighted_) return MPI_UNWEIGHTED;
  if (weights == &mpi_fortran_weights_empty_) return MPI_WEIGHTS_EMPTY;
  return weights;
}

}  // namespace hearth::fortran
