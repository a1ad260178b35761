// The variables of Fortran whose addresses stand for constants of C: MPI_BOTTOM, MPI_IN_PLACE and others.
//
// mpif.h has each in a COMMON block, the modules as a variable with the name of the block. So an executable
// may define the variable itself (as a COMMON block), which then precedes that of this library. The sizes are
// exactly those of the COMMON blocks: the linker warns about any difference.
#pragma once

#include "mpi.h"

#if HEARTH_FORTRAN_MPICH
#include "fortran/mpich/sentinels.h"
#else

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

inline bool is_bottom(const void* buffer) {
  return buffer == &mpi_fortran_bottom_;
}
inline bool is_in_place(const void* buffer) {
  return buffer == &mpi_fortran_in_place_;
}
/// The address that stands for MPI_BUFFER_AUTOMATIC; null if the ABI has none.
inline const void* automatic_buffer() {
  return &mpi_fortran_buffer_automatic_;
}
inline bool is_status_ignored(const int* status) {
  return status == mpi_fortran_status_ignore_;
}
inline bool are_statuses_ignored(const int* statuses) {
  return statuses == mpi_fortran_statuses_ignore_;
}
inline bool are_errcodes_ignored(const int* errcodes) {
  return errcodes == &mpi_fortran_errcodes_ignore_;
}
inline bool is_unweighted(const int* weights) {
  return weights == &mpi_fortran_unweighted_;
}
inline bool has_no_weights(const int* weights) {
  return weights == &mpi_fortran_weights_empty_;
}
inline bool is_argv_null(const char* argv) {
  return argv == &mpi_fortran_argv_null_;
}
inline bool are_argvs_null(const char* argvs) {
  return argvs == &mpi_fortran_argvs_null_;
}

}  // namespace hearth::fortran

#endif

namespace hearth::fortran {

/// A buffer, which may be MPI_BOTTOM.
inline void* buffer_in(const void* buffer) {
  if (is_bottom(buffer)) [[unlikely]]
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
  if (automatic_buffer() != nullptr && buffer == automatic_buffer()) return MPI_BUFFER_AUTOMATIC;
  return const_cast<void*>(buffer);
}

/// A status has the same integers in both languages, so it is passed without a copy.
inline MPI_Status* status_in(int* status) {
  return is_status_ignored(status) ? MPI_STATUS_IGNORE : reinterpret_cast<MPI_Status*>(status);
}
inline const MPI_Status* status_in(const int* status) {
  return is_status_ignored(status) ? nullptr : reinterpret_cast<const MPI_Status*>(status);
}
inline MPI_Status* statuses_in(int* statuses) {
  return are_statuses_ignored(statuses) ? MPI_STATUSES_IGNORE : reinterpret_cast<MPI_Status*>(statuses);
}

template <class Int>
Int* weights_in(Int* weights) {
  if (is_unweighted(weights)) return MPI_UNWEIGHTED;
  if (has_no_weights(weights)) return MPI_WEIGHTS_EMPTY;
  return weights;
}

}  // namespace hearth::fortran
