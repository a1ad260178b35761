// Building blocks of the generated entry points: checks of arguments, one test and branch each. The handling
// of invalid arguments is out of line (src/abi/error.h).
//
// An entry point first stores its arguments on the stack, where only the rare paths read them: error reports,
// and acquiring the lock. Without these stores, every call would save and restore registers for the lock.
#pragma once

#include <climits>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "abi/error.h"
#include "abi/guard.h"
#include "abi/handle.h"
#include "abi/state.h"
#include "base/counts.h"
#include "base/inside.h"
#include "base/lock.h"
#include "datatype/predefined.h"
#include "hearth_calls.h"
#include "profile/recorder.h"

namespace hearth::abi {

template <class T>
inline uint64_t word(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uintptr_t>(value);
  } else {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
}

/// Keeps the compiler from moving the stores into `words` to the rare paths.
inline void keep(uint64_t* words) {
  asm volatile("" : : "r"(words) : "memory");
}

template <class T>
inline void read_back(T& argument, uint64_t value) {
  if constexpr (std::is_pointer_v<T>) {
    argument = reinterpret_cast<T>(value);
  } else {
    argument = static_cast<T>(value);
  }
}

/// Reloads the arguments from where they were stored.
template <class... Arguments>
inline void take_back(const uint64_t* words, Arguments&... arguments) {
  (read_back(arguments, *words++), ...);
}

/// Enters a call while the gate is not open: acquires the lock if threads are in use. Returns MPI_SUCCESS, or
/// the result of the MPI function if the call is not allowed now.
[[gnu::cold, gnu::noinline]] int enter_otherwise(Call call, const uint64_t* words);
/// Rejects a call from a signal handler that interrupted another call.
[[gnu::cold, gnu::noinline]] int refuse_in_handler(Call call, const uint64_t* words);

[[gnu::cold, gnu::noinline]] int leave_locked(int code);

/// Starts the trace record of a call, which leave_locked() completes. While tracing, the lock is in use.
[[gnu::cold, gnu::noinline]] void begin_traced(Call call);

/// Releases the lock, if threads are in use, and returns the code.
inline int leave(int code) {
  if (Inside::gate() != Inside::Gate::inside) [[unlikely]]
    return leave_locked(code);
  Inside::set_gate(Inside::Gate::open);
  return code;
}

inline bool is_active() {
  return state() == State::active;
}

/// Active, and calls are neither counted nor traced: one comparison for both.
inline bool is_active_unwatched() {
  return states.counted == State::active;
}
/// Active, and calls are not traced.
inline bool is_active_untraced() {
  return states.traced == State::active;
}

/// Size of the data that these arguments describe; 0 if the datatype is invalid.
inline uint64_t bytes_of(Count count, MPI_Datatype datatype) {
  const datatype::Type* type = find<datatype::Type>(datatype);
  return type == nullptr || count < 0 ? 0 : static_cast<uint64_t>(count * type->size);
}

/// Records a call in a process whose calls are counted or traced. Calls without count and datatype have 0
/// bytes.
inline void watch(Call call) {
  profile::count_call(static_cast<int>(call));
  if (profile::process_traced) [[unlikely]]
    begin_traced(call);
}
inline void watch(Call call, Count count, MPI_Datatype datatype) {
  profile::count_call(static_cast<int>(call), bytes_of(count, datatype));
  if (profile::process_traced) [[unlikely]]
    begin_traced(call);
}
inline void watch_collective(Call call) {
  profile::collective_call = {static_cast<int>(call), 0};
  watch(call);
}
inline void watch_collective(Call call, Count count, MPI_Datatype datatype) {
  profile::collective_call = {static_cast<int>(call), bytes_of(count, datatype)};
  watch(call, count, datatype);
}

/// Whether a datatype may be used to communicate.
inline bool usable(const datatype::Type* type) {
  return type != nullptr && type->committed;
}

inline bool is_peer(const objects::Comm& comm, int rank) {
  return static_cast<unsigned>(rank) < static_cast<unsigned>(comm.peer_count);
}

inline bool is_target(const objects::Win& win, int rank) {
  return is_peer(*win.comm, rank);
}

// Rooted collectives. In an intercommunicator the root passes MPI_ROOT, the other ranks of its group
// MPI_PROC_NULL (MPI 5.0 section 6.2.3).
inline bool is_root(const objects::Comm& comm, int root) {
  return is_peer(comm, root) || (comm.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL));
}
inline bool is_root_here(const objects::Comm& comm, int root) {
  return comm.is_inter() ? root == MPI_ROOT : root == comm.rank;
}
inline bool is_leaf_here(const objects::Comm& comm, int root) {
  return !comm.is_inter() || root >= 0;
}
inline bool takes_part(const objects::Comm& comm, int root) {
  return !comm.is_inter() || root != MPI_PROC_NULL;
}

/// Replacements for arguments that are not significant in this process.
inline datatype::Type* insignificant_type() {
  return &datatype::null_type();
}
inline objects::Op* insignificant_op() {
  return find<objects::Op>(MPI_NO_OP);
}

/// Special addresses: MPI_BOTTOM, MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC are 0, 1 and 2.
inline bool is_odd(const void* buffer) {
  return reinterpret_cast<uintptr_t>(buffer) <= 2;
}

/// Whether a buffer at MPI_BOTTOM, the null pointer, is valid: there are no data, or the datatype contains
/// addresses.
[[gnu::cold]] inline bool odd_buffer_fits(const void* buffer, Count count, const datatype::Type& type) {
  if (buffer != MPI_BOTTOM) return false;
  return count == 0 || type.size == 0 || type.true_lower_bound != 0;
}

/// Whether the size of `count` elements fits into 64 bits.
inline bool bytes_fit(Count count, const datatype::Type& type) {
  int64_t bytes;
  return !__builtin_mul_overflow(count, type.size, &bytes);
}

/// Whether an array of counts has no negative entry, and none whose size does not fit into 64 bits.
inline bool counts_fit(CountArray counts, int processes, int64_t element_bytes) {
  if (counts.null()) return false;
  for (int i = 0; i < processes; ++i) {
    int64_t bytes;
    if (counts[i] < 0 || __builtin_mul_overflow(counts[i], element_bytes, &bytes)) return false;
  }
  return true;
}

/// A count as the int version of a function returns it.
inline int narrow(Count count) {
  return count > INT_MAX ? MPI_UNDEFINED : static_cast<int>(count);
}

}  // namespace hearth::abi
