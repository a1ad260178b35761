// Open MPI's ABI: handles are addresses, statuses of 24 bytes.
//
// A predefined handle is the address of a data object, which an executable that is not position-independent
// copies. So the addresses come from the dynamic linker, and a table finds the constant of an address. A
// user's handle is that of the standard ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "abi/status.h"
#include "facade/core.h"
#include "facade/values.h"

namespace hearth::facade {

#include "facade_openmpi.inc"

using Comm = struct CommObject*;
using Datatype = struct DatatypeObject*;
using Errhandler = struct ErrhandlerObject*;
using File = struct FileObject*;
using Group = struct GroupObject*;
using Info = struct InfoObject*;
using Message = struct MessageObject*;
using Op = struct OpObject*;
using Request = struct RequestObject*;
using Session = struct SessionObject*;
using Win = struct WinObject*;

/// A status of Fortran is an array of six INTEGERs with the same content, and the alignment of an INTEGER.
struct [[gnu::packed, gnu::aligned(4)]] Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int cancelled;
  size_t bytes;
};
static_assert(sizeof(Status) == 24 && sizeof(Status) == kFStatusSize * sizeof(int));

/// Predefined handles by address and by constant.
class Constants {
 public:
  void enter(uint16_t here, const void* there) {
    if (there_[here] == nullptr) there_[here] = there;
    size_t place = start(there);
    while (rows_[place].there != nullptr) place = (place + 1) % kRows;
    rows_[place] = {there, here};
  }
  /// 0 for an address that is no predefined handle.
  HEARTH_CONVERSION uint16_t find(const void* there) const {
    for (size_t place = start(there);; place = (place + 1) % kRows) {
      if (rows_[place].there == there) return rows_[place].here;
      if (rows_[place].there == nullptr) return 0;
    }
  }
  const void* there(uintptr_t here) const { return there_[here]; }

 private:
  struct Row {
    const void* there;
    uint16_t here;
  };
  static constexpr size_t kRows = 1024;  // about eight times the number of handles: short probe sequences
  // The objects are at least 256 bytes apart.
  static size_t start(const void* there) {
    return (reinterpret_cast<uintptr_t>(there) >> 8) * 0x9e3779b97f4a7c15 >> 54;
  }

  Row rows_[kRows];
  const void* there_[kPredefinedMax];
};
/// Filled when the facade is loaded (openmpi/data.cpp).
extern Constants constants;

/// The numbers of predefined handles in Fortran, which start at 0 in each type of handles. All other handles
/// have the number of the standard ABI, which is larger.
class FortranNumbers {
 public:
  void enter(PoolKind kind, uint16_t here, int number) {
    here_[static_cast<int>(kind)][number] = here;
    number_plus_1_[here] = static_cast<uint8_t>(number + 1);
  }
  /// -1 if the predefined handle has no number of its own.
  int number_of(uintptr_t here) const { return number_plus_1_[here] - 1; }
  /// 0 if no predefined handle has the number.
  uint16_t here_of(PoolKind kind, int number) const {
    return number >= 0 && number < kNumbers ? here_[static_cast<int>(kind)][number] : uint16_t{0};
  }

 private:
  static constexpr int kNumbers = 73;
  uint16_t here_[static_cast<int>(PoolKind::count_)][kNumbers];
  uint8_t number_plus_1_[kPredefinedMax];
};
/// Filled when the facade is loaded, as well.
extern FortranNumbers fortran_numbers;

template <class Handle>
HEARTH_CONVERSION Handle handle_in(const void* there) {
  const auto value = reinterpret_cast<uintptr_t>(there);
  const uint16_t here = constants.find(there);
  return reinterpret_cast<Handle>(here != 0 ? here : value < kAddressMin ? kInvalidHandle | value : value);
}
template <class Handle>
HEARTH_CONVERSION Handle handle_out(const void* here) {
  const auto value = reinterpret_cast<uintptr_t>(here);
  const void* const there = value < kPredefinedMax ? constants.there(value) : here;
  return reinterpret_cast<Handle>(const_cast<void*>(there));
}

#define HEARTH_CONVERT(name, type)                     \
  HEARTH_CONVERSION MPI_##type name##_in(type there) { \
    return handle_in<MPI_##type>(there);               \
  }                                                    \
  HEARTH_CONVERSION type name##_out(MPI_##type here) { \
    return handle_out<type>(here);                     \
  }
#define HEARTH_HANDLE(name, type, Name)                                                                \
  HEARTH_CONVERT(name, type)                                                                           \
  inline int name##_number(type there) {                                                               \
    const MPI_##type here = name##_in(there);                                                          \
    const auto value = reinterpret_cast<uintptr_t>(here);                                              \
    const int number = value < kPredefinedMax ? fortran_numbers.number_of(value) : -1;                 \
    return number >= 0 ? number : core().Name##_toint(here);                                           \
  }                                                                                                    \
  inline type name##_of_number(int number) {                                                           \
    const uintptr_t here = fortran_numbers.here_of(PoolKind::name, number);                            \
    return name##_out(here != 0 ? reinterpret_cast<MPI_##type>(here) : core().Name##_fromint(number)); \
  }
HEARTH_HANDLE(comm, Comm, Comm)
HEARTH_HANDLE(group, Group, Group)
HEARTH_HANDLE(type, Datatype, Type)
HEARTH_HANDLE(errhandler, Errhandler, Errhandler)
HEARTH_HANDLE(op, Op, Op)
HEARTH_HANDLE(info, Info, Info)
HEARTH_HANDLE(win, Win, Win)
HEARTH_HANDLE(request, Request, Request)
HEARTH_HANDLE(message, Message, Message)
HEARTH_HANDLE(session, Session, Session)
HEARTH_CONVERT(file, File)
#undef HEARTH_HANDLE
#undef HEARTH_CONVERT

inline bool is_ignored(const Status* status) {
  return status == nullptr;
}
/// All but MPI_ERROR.
inline void write_status(Status& there, const MPI_Status& here) {
  there.MPI_SOURCE = rank_out(here.MPI_SOURCE);
  there.MPI_TAG = tag_out(here.MPI_TAG);
  there.cancelled = abi::status_cancelled(here) ? 1 : 0;
  there.bytes = static_cast<size_t>(abi::status_bytes(here));
}
inline void read_status(const Status& there, MPI_Status& here) {
  abi::set_status(&here, rank_in(there.MPI_SOURCE), tag_in(there.MPI_TAG), static_cast<int64_t>(there.bytes),
                  there.cancelled != 0);
}

inline void* const kInPlace = reinterpret_cast<void*>(intptr_t{1});
inline void* const kBufferAutomatic = nullptr;  // this ABI has none
inline int* const weights_unweighted = reinterpret_cast<int*>(intptr_t{2});
inline int* const weights_empty = reinterpret_cast<int*>(intptr_t{3});
inline const MPI_T_pvar_handle all_variables = reinterpret_cast<MPI_T_pvar_handle>(intptr_t{-1});

extern "C" {
[[gnu::visibility("default")]] extern char ompi_mpi_lb[];
[[gnu::visibility("default")]] extern char ompi_mpi_ub[];
}
/// MPI_LB and MPI_UB, which the standard ABI lacks.
inline Datatype lower_bound_type() {
  return reinterpret_cast<Datatype>(ompi_mpi_lb);
}
inline Datatype upper_bound_type() {
  return reinterpret_cast<Datatype>(ompi_mpi_ub);
}

/// The predefined functions of attributes, as the ABI's constant: 0 for those that do nothing, 1 for those
/// that copy, -1 for a function of the user.
intptr_t constant_of_function(const void* function);

template <class Function>
Function* attribute_function_in(void* function) {
  const intptr_t constant = constant_of_function(function);
  return constant >= 0 ? reinterpret_cast<Function*>(constant) : reinterpret_cast<Function*>(function);
}

inline constexpr const char* kAbiName = "Open MPI";

}  // namespace hearth::facade
