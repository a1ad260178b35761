// Handles of C and Fortran. A predefined handle is the same number in both (MPI 5.0 appendix A). The others
// are converted by the library; if it is Hearth's, by the places of its objects, without a call.
#pragma once

/// Calls the macro `row` for each type of handles, with the names of its functions here and in MPI, and the
/// place of its pool in the order of abi::PoolKind, which handles.cpp checks.
#define HEARTH_FORTRAN_HANDLES(row)                                                                        \
  row(comm, Comm, Comm, 0) row(group, Group, Group, 1) row(info, Info, Info, 2) row(op, Op, Op, 3)         \
      row(errhandler, Errhandler, Errhandler, 4) row(session, Session, Session, 5) row(win, Win, Win, 6)   \
          row(type, Datatype, Type, 7) row(request, Request, Request, 8) row(message, Message, Message, 9) \
              row(file, File, File, kOwnPlaces)

#if HEARTH_FORTRAN_MPICH
#include "fortran/mpich/handles.h"
#elif HEARTH_FORTRAN_OPENMPI
#include "fortran/openmpi/handles.h"
#else

#include <cstddef>
#include <cstdint>

#include "mpi.h"

namespace hearth::fortran {

inline constexpr uintptr_t kPredefinedMax = 4095;

/// The pool of the library's objects of one kind (abi::PoolPlace): the object in `slot` has the address
/// *base + slot * bytes as its handle, and 4096 + slot as its number. *base is null before the first object.
struct Places {
  const std::byte* const* base;
  size_t bytes;
};
/// Indexed by abi::PoolKind. A null pointer if the library is not Hearth's, or of another version.
extern const Places* const places;

/// A handle, or a null pointer if only the library can convert the number. The library checks handles, so the
/// slot may be any.
inline void* object_of(int kind, unsigned number) {
  if (places == nullptr) return nullptr;
  const std::byte* const base = *places[kind].base;
  if (base == nullptr) return nullptr;
  return const_cast<std::byte*>(base + (number - kPredefinedMax - 1) * places[kind].bytes);
}

/// The number of an object, or 0 if only the library can convert the handle. The first word of an object is
/// its slot (objects/object.h, p2p/request.h).
inline int number_of(int kind, const void* object) {
  if (places == nullptr || *places[kind].base == nullptr) return 0;
  return static_cast<int>(kPredefinedMax + 1) + *static_cast<const int*>(object);
}

/// For kinds without a pool in `places`.
inline constexpr int kOwnPlaces = -1;

#define HEARTH_FORTRAN_HANDLE(name, Type, Function, kind)                     \
  inline MPI_##Type name##_in(int number) {                                   \
    const auto value = static_cast<unsigned>(number);                         \
    if (value <= kPredefinedMax) [[likely]]                                   \
      return reinterpret_cast<MPI_##Type>(static_cast<uintptr_t>(value));     \
    if (kind != kOwnPlaces && number > 0) {                                   \
      if (void* const object = object_of(kind, value)) [[likely]]             \
        return static_cast<MPI_##Type>(object);                               \
    }                                                                         \
    return PMPI_##Function##_fromint(number);                                 \
  }                                                                           \
  inline int name##_out(MPI_##Type handle) {                                  \
    const auto value = reinterpret_cast<uintptr_t>(handle);                   \
    if (value <= kPredefinedMax) return static_cast<int>(value);              \
    if (kind != kOwnPlaces) {                                                 \
      if (const int number = number_of(kind, handle); number != 0) [[likely]] \
        return number;                                                        \
    }                                                                         \
    return PMPI_##Function##_toint(handle);                                   \
  }
HEARTH_FORTRAN_HANDLES(HEARTH_FORTRAN_HANDLE)
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

#endif
