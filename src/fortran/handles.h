// Handles of C and Fortran. A predefined handle is the same number in both (MPI 5.0 appendix A); all others
// are converted by the library.
#pragma once

#include <cstdint>

#include "mpi.h"

namespace hearth::fortran {

inline constexpr uintptr_t kPredefinedMax = 4095;

#define HEARTH_FORTRAN_HANDLE(name, Type, Function)                       \
  inline MPI_##Type name##_in(int number) {                               \
    const auto value = static_cast<unsigned>(number);                     \
    if (value <= kPredefinedMax) [[likely]]                               \
      return reinterpret_cast<MPI_##Type>(static_cast<uintptr_t>(value)); \
    return PMPI_##Function##_fromint(number);                             \
  }                                                                       \
  inline int name##_out(MPI_##Type handle) {                              \
    const auto value = reinterpret_cast<uintptr_t>(handle);               \
    if (value <= kPredefinedMax) return static_cast<int>(value);          \
    return PMPI_##Function##_toint(handle);                               \
  }
HEARTH_FORTRAN_HANDLE(comm, Comm, Comm)
HEARTH_FORTRAN_HANDLE(type, Datatype, Type)
HEARTH_FORTRAN_HANDLE(errhandler, Errhandler, Errhandler)
HEARTH_FORTRAN_HANDLE(file, File, File)
HEARTH_FORTRAN_HANDLE(group, Group, Group)
HEARTH_FORTRAN_HANDLE(info, Info, Info)
HEARTH_FORTRAN_HANDLE(message, Message, Message)
HEARTH_FORTRAN_HANDLE(op, Op, Op)
HEARTH_FORTRAN_HANDLE(request, Request, Request)
HEARTH_FORTRAN_HANDLE(session, Session, Session)
HEARTH_FORTRAN_HANDLE(win, Win, Win)
#undef HEARTH_FORTRAN_HANDLE

}  // namespace hearth::fortran
