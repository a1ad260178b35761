// Handles in MPICH's ABI: those of C are the INTEGERs of Fortran, except those of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mpi.h"

namespace hearth::fortran {

#define HEARTH_FORTRAN_HANDLE(name, Type)    \
  inline MPI_##Type name##_in(int number) {  \
    return number;                           \
  }                                          \
  inline int name##_out(MPI_##Type handle) { \
    return handle;                           \
  }
HEARTH_FORTRAN_HANDLE(comm, Comm)
HEARTH_FORTRAN_HANDLE(group, Group)
HEARTH_FORTRAN_HANDLE(info, Info)
HEARTH_FORTRAN_HANDLE(op, Op)
HEARTH_FORTRAN_HANDLE(errhandler, Errhandler)
HEARTH_FORTRAN_HANDLE(session, Session)
HEARTH_FORTRAN_HANDLE(win, Win)
HEARTH_FORTRAN_HANDLE(type, Datatype)
HEARTH_FORTRAN_HANDLE(request, Request)
HEARTH_FORTRAN_HANDLE(message, Message)
#undef HEARTH_FORTRAN_HANDLE

inline MPI_File file_in(int number) {
  return PMPI_File_fromint(number);
}
inline int file_out(MPI_File handle) {
  return PMPI_File_toint(handle);
}

/// A handle that no call writes: no type of handles has this number.
template <class Handle>
Handle unwritten() {
  if constexpr (std::is_integral_v<Handle>) {
    return Handle{-1};
  } else {
    return reinterpret_cast<Handle>(intptr_t{-1});
  }
}

/// A predefined key of Fortran is the number after that of C.
inline int keyval_in(int keyval) {
  const int here = keyval - 1;
  const bool of_comm = here >= MPI_TAG_UB && here <= MPI_APPNUM;
  const bool of_win = here >= MPI_WIN_BASE && here <= MPI_WIN_MODEL;
  return (of_comm || of_win) && here % 2 != 0 ? here : keyval;
}

}  // namespace hearth::fortran
