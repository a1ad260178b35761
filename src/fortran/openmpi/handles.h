// Handles in Open MPI's ABI: addresses in C, small numbers in Fortran. The facade converts both kinds of
// handles, predefined and of the user.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi.h"

namespace hearth::fortran {

#define HEARTH_FORTRAN_HANDLE(name, Type, Function) \
  inline MPI_##Type name##_in(int number) {         \
    return PMPI_##Function##_fromint(number);       \
  }                                                 \
  inline int name##_out(MPI_##Type handle) {        \
    return PMPI_##Function##_toint(handle);         \
  }
HEARTH_FORTRAN_HANDLE(comm, Comm, Comm)
HEARTH_FORTRAN_HANDLE(group, Group, Group)
HEARTH_FORTRAN_HANDLE(info, Info, Info)
HEARTH_FORTRAN_HANDLE(op, Op, Op)
HEARTH_FORTRAN_HANDLE(errhandler, Errhandler, Errhandler)
HEARTH_FORTRAN_HANDLE(session, Session, Session)
HEARTH_FORTRAN_HANDLE(win, Win, Win)
HEARTH_FORTRAN_HANDLE(type, Datatype, Type)
HEARTH_FORTRAN_HANDLE(request, Request, Request)
HEARTH_FORTRAN_HANDLE(message, Message, Message)
HEARTH_FORTRAN_HANDLE(file, File, File)
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
