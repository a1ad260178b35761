// The COMMON blocks of MPICH's mpif.h and module mpi, whose addresses stand for constants of C. The
// definitions of the program precede those of this library.
#pragma once

#define HEARTH_FORTRAN_VARIABLE [[gnu::visibility("default")]]

extern "C" {
struct HearthMpichPrivate1 {
  int bottom;
  int in_place;
  int status_ignore[MPI_F_STATUS_SIZE];
};
struct HearthMpichPrivate2 {
  int statuses_ignore[MPI_F_STATUS_SIZE];
  int errcodes_ignore;
};
struct HearthMpichCharacters {
  char argvs_null;
  char argv_null;
};
HEARTH_FORTRAN_VARIABLE extern HearthMpichPrivate1 mpipriv1_;
HEARTH_FORTRAN_VARIABLE extern HearthMpichPrivate2 mpipriv2_;
HEARTH_FORTRAN_VARIABLE extern HearthMpichCharacters mpiprivc_;
HEARTH_FORTRAN_VARIABLE extern int mpifcmb5_;  // MPI_UNWEIGHTED
HEARTH_FORTRAN_VARIABLE extern int mpifcmb9_;  // MPI_WEIGHTS_EMPTY
}

namespace hearth::fortran {

inline bool is_bottom(const void* buffer) {
  return buffer == &mpipriv1_.bottom;
}
inline bool is_in_place(const void* buffer) {
  return buffer == &mpipriv1_.in_place;
}
inline const void* automatic_buffer() {
  return nullptr;
}
inline bool is_status_ignored(const int* status) {
  return status == mpipriv1_.status_ignore;
}
inline bool are_statuses_ignored(const int* statuses) {
  return statuses == mpipriv2_.statuses_ignore;
}
inline bool are_errcodes_ignored(const int* errcodes) {
  return errcodes == &mpipriv2_.errcodes_ignore;
}
inline bool is_unweighted(const int* weights) {
  return weights == &mpifcmb5_;
}
inline bool has_no_weights(const int* weights) {
  return weights == &mpifcmb9_;
}
inline bool is_argv_null(const char* argv) {
  return argv == &mpiprivc_.argv_null;
}
inline bool are_argvs_null(const char* argvs) {
  return argvs == &mpiprivc_.argvs_null;
}

}  // namespace hearth::fortran
