// MPICH's ABI: 32-bit handles, statuses of 20 bytes.
//
// Predefined handles have MPICH's values. A user's handle has bit 31, bit 25, the number of its type in bits
// 26 to 29, and the slot of its object in the lower 25 bits; MPICH's predefined pair types have bit 31
// without bit 25.
#pragma once

#include <cstdint>
#include <cstring>

#include "abi/status.h"
#include "facade/core.h"
#include "facade/values.h"

namespace hearth::facade {

#include "facade_mpich.inc"

using Comm = int;
using Datatype = int;
using Errhandler = int;
using Group = int;
using Info = int;
using Message = int;
using Op = int;
using Request = int;
using Session = int;
using Win = int;
using File = struct FileObject*;

struct Status {
  int count_lo;
  int count_hi_and_cancelled;  // bit 0: cancelled
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
};
static_assert(sizeof(Status) == 20 && sizeof(Status) == kFStatusSize * sizeof(int));

/// Types of handles. The value selects the part of Constants::others.
enum class HandleType : uint32_t {
  of_Comm,
  of_Group,
  of_Datatype,
  of_Errhandler,
  of_Op,
  of_Info,
  of_Win,
  of_Request,
  of_Message,
  of_Session,
  of_File
};

struct Constants {
  uint32_t there[kPredefinedMax] = {};  // by the value of the standard ABI
  uint16_t datatypes[512] = {};         // the value of the standard ABI by datatype_index(); 0: none
  uint16_t others[512] = {};            // likewise by other_index()
};

constexpr uint32_t datatype_index(uint32_t handle) {
  return (handle & 0x7f) | (handle >> 30) << 7;
}
constexpr uint32_t other_index(HandleType type, uint32_t handle) {
  return (handle & 0xf) | static_cast<uint32_t>(type) << 4 | ((handle >> 30) & 1) << 8;
}

consteval Constants make_constants() {
  Constants all;
  const auto enter = [&all](HandleType type, uint16_t here, uint32_t there) {
    if (type == HandleType::of_File) return;  // a pointer
    all.there[here] = there;
    (type == HandleType::of_Datatype ? all.datatypes[datatype_index(there)]
                                     : all.others[other_index(type, there)]) = here;
  };
#define HEARTH_PREDEFINED(type, here, there) enter(HandleType::of_##type, here, there);
#include "facade_mpich.inc"
#undef HEARTH_PREDEFINED
  return all;
}
inline constexpr Constants kConstants = make_constants();

inline constexpr uint32_t kUserBits = 0x82000000;
inline constexpr uint32_t kSlotMask = 0x1ffffff;

template <HandleType type>
HEARTH_CONVERSION uintptr_t constant_in(uint32_t handle) {
  const uint16_t here = type == HandleType::of_Datatype ? kConstants.datatypes[datatype_index(handle)]
                                                        : kConstants.others[other_index(type, handle)];
  if (here == 0 || kConstants.there[here] != handle) [[unlikely]]
    return kInvalidHandle | handle;
  return here;
}

/// `number`: that of the type in MPICH's handles.
template <class Handle, PoolKind kind, HandleType type, uint32_t number>
HEARTH_CONVERSION Handle handle_in(int there) {
  const auto handle = static_cast<uint32_t>(there);
  const bool of_user = (handle & ~kSlotMask) == (kUserBits | number << 26);
  return reinterpret_cast<Handle>(of_user ? object_at(kind, handle & kSlotMask) : constant_in<type>(handle));
}

template <class Handle, uint32_t number>
HEARTH_CONVERSION int handle_out(Handle here) {
  const auto value = reinterpret_cast<uintptr_t>(here);
  return static_cast<int>(value < kPredefinedMax ? kConstants.there[value]
                                                 : kUserBits | number << 26 | slot_of(value));
}

#define HEARTH_HANDLE(name, type, pool, number)                                         \
  HEARTH_CONVERSION MPI_##type name##_in(type there) {                                  \
    return handle_in<MPI_##type, PoolKind::pool, HandleType::of_##type, number>(there); \
  }                                                                                     \
  HEARTH_CONVERSION type name##_out(MPI_##type here) {                                  \
    return handle_out<MPI_##type, number>(here);                                        \
  }                                                                                     \
  /* Integers of Fortran and of MPI_X_toint are the handles themselves. */              \
  inline int name##_number(type there) {                                                \
    return there;                                                                       \
  }                                                                                     \
  inline type name##_of_number(int number_there) {                                      \
    return number_there;                                                                \
  }
HEARTH_HANDLE(comm, Comm, comm, 1)
HEARTH_HANDLE(group, Group, group, 2)
HEARTH_HANDLE(type, Datatype, type, 3)
HEARTH_HANDLE(errhandler, Errhandler, errhandler, 5)
HEARTH_HANDLE(op, Op, op, 6)
HEARTH_HANDLE(info, Info, info, 7)
HEARTH_HANDLE(win, Win, win, 8)
HEARTH_HANDLE(request, Request, request, 11)
HEARTH_HANDLE(message, Message, message, 12)
HEARTH_HANDLE(session, Session, session, 14)
#undef HEARTH_HANDLE

/// MPI_LB and MPI_UB, which the standard ABI lacks.
inline Datatype lower_bound_type() {
  return 0x4c000010;
}
inline Datatype upper_bound_type() {
  return 0x4c000011;
}

inline MPI_File file_in(File there) {
  return there == nullptr ? MPI_FILE_NULL : reinterpret_cast<MPI_File>(there);
}
inline File file_out(MPI_File here) {
  return here == MPI_FILE_NULL ? nullptr : reinterpret_cast<File>(here);
}

inline bool is_ignored(const Status* status) {
  return reinterpret_cast<uintptr_t>(status) <= 1;  // MPI_STATUS_IGNORE is 1
}
/// All but MPI_ERROR.
inline void write_status(Status& there, const MPI_Status& here) {
  const int64_t bytes = abi::status_bytes(here);
  there.count_lo = static_cast<int>(bytes);
  there.count_hi_and_cancelled =
      static_cast<int>(static_cast<uint32_t>(bytes >> 32) << 1 | (abi::status_cancelled(here) ? 1 : 0));
  there.MPI_SOURCE = rank_out(here.MPI_SOURCE);
  there.MPI_TAG = tag_out(here.MPI_TAG);
}
inline void read_status(const Status& there, MPI_Status& here) {
  const auto high = static_cast<uint64_t>(static_cast<uint32_t>(there.count_hi_and_cancelled) >> 1);
  const auto bytes = static_cast<int64_t>(high << 32 | static_cast<uint32_t>(there.count_lo));
  abi::set_status(&here, rank_in(there.MPI_SOURCE), tag_in(there.MPI_TAG), bytes,
                  (there.count_hi_and_cancelled & 1) != 0);
}

inline void* const kInPlace = reinterpret_cast<void*>(intptr_t{-1});
inline void* const kBufferAutomatic = reinterpret_cast<void*>(intptr_t{-2});

extern "C" {
[[gnu::visibility("default")]] extern int* const weights_unweighted asm("MPI_UNWEIGHTED");
[[gnu::visibility("default")]] extern int* const weights_empty asm("MPI_WEIGHTS_EMPTY");
[[gnu::visibility("default")]] extern MPI_T_pvar_handle const all_variables asm("MPI_T_PVAR_ALL_HANDLES");
/// MPI_COMM_DUP_FN and its like; the functions that do nothing are null.
[[gnu::visibility("default")]] int duplicate_attribute(int object, int keyval, void* extra_state,
                                                       void* value_in, void* value_out,
                                                       int* flag) asm("MPIR_Dup_fn");
}

/// A function of attributes: the standard ABI has constants for "copy" (1) and "do nothing" (0).
template <class Function>
Function* attribute_function_in(void* function) {
  if (function == reinterpret_cast<void*>(&duplicate_attribute))
    return reinterpret_cast<Function*>(intptr_t{1});
  return reinterpret_cast<Function*>(function);
}

inline constexpr const char* kAbiName = "MPICH";

}  // namespace hearth::facade
