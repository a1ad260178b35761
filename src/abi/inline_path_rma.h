// Fast paths of one-sided calls, compiled into their entry points under the rules of abi/inline_path.h: valid
// arguments, a single thread, calls that are not counted. One exception: win_lock() may mark an exclusive
// lock as wanted and return false; the regular path then waits for it. MPI 5.0 sections 12.3 and 12.5.
#pragma once

#include "abi/inline_path.h"
#include "objects/op.h"
#include "objects/win.h"
#include "rma/inline_path.h"

namespace hearth::abi::inline_path {

/// For longer data the checks of the regular path are short compared to the copy.
constexpr uint64_t kPutBytesMax = 4096;
/// Accumulates of at most one word take the fast path.
constexpr int64_t kAccumulateBytesMax = 8;

[[gnu::always_inline]] inline bool may_begin() {
  return __builtin_expect(Inside::is_open() && is_active_unwatched(), 1);
}

/// The window if its handle is valid and `rank` is one of its ranks; nullptr otherwise.
[[gnu::always_inline]] inline rma::Window* window_of(MPI_Win win, int rank) {
  const objects::Win* found = find<objects::Win>(win);
  return found == nullptr || !is_target(*found, rank) ? nullptr : found->window;
}

/// Address and length of the target data of a put or get; nullptr unless they are the same consecutive bytes
/// at the origin and at the target.
struct Place {
  std::byte* memory;
  size_t bytes;
};
[[gnu::always_inline]] inline Place place_of(const void* origin, Count count, MPI_Datatype datatype, int rank,
                                             MPI_Aint displacement, Count target_count,
                                             MPI_Datatype target_datatype, MPI_Win win) {
  const rma::Window* const window = window_of(win, rank);
  const Type* const type = find<Type>(datatype);
  if (window == nullptr || !usable(type) || datatype != target_datatype || count != target_count ||
      !type->contiguous || type->true_lower_bound != 0 || is_odd(origin) ||
      static_cast<uint64_t>(count) > kPutBytesMax || static_cast<uint64_t>(type->size) > kPutBytesMax) {
    return {};
  }
  const int64_t bytes = count * type->size;
  if (static_cast<uint64_t>(bytes - 1) >= kPutBytesMax) return {};
  return {window->reach_inline(rank, displacement, bytes), static_cast<size_t>(bytes)};
}

[[gnu::always_inline]] inline bool put(const void* origin_addr, Count origin_count,
                                       MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                                       Count target_count, MPI_Datatype target_datatype, MPI_Win win) {
  if (!may_begin()) return false;
  const InsideShortly inside;
  const Place target = place_of(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                target_count, target_datatype, win);
  if (target.memory == nullptr) return false;
  copy_bytes(target.memory, origin_addr, target.bytes);
  return true;
}

[[gnu::always_inline]] inline bool get(void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                                       int target_rank, MPI_Aint target_disp, Count target_count,
                                       MPI_Datatype target_datatype, MPI_Win win) {
  if (!may_begin()) return false;
  const InsideShortly inside;
  const Place target = place_of(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                                target_count, target_datatype, win);
  if (target.memory == nullptr) return false;
  copy_bytes(origin_addr, target.memory, target.bytes);
  return true;
}

/// One element of a predefined type of at most a word, combined with the target. `result`: receives the
/// previous element; nullptr: it is not fetched.
[[gnu::always_inline]] inline bool combine(const void* origin, void* result, MPI_Datatype datatype, int rank,
                                           MPI_Aint displacement, MPI_Op op, MPI_Win win) {
  rma::Window* const window = window_of(win, rank);
  const Type* const type = find<Type>(datatype);
  const auto* const operation = find<objects::Op>(op);
  if (window == nullptr || !usable(type) || operation == nullptr || operation->predefined == 0 ||
      type->element == datatype::Element::none || type->size != type->extent ||
      type->size > kAccumulateBytesMax) {
    return false;
  }
  std::byte* const target = window->reach_inline(rank, displacement, type->size);
  return target != nullptr && window->accumulate_inline(origin, result, *type, *operation, rank, target);
}

[[gnu::always_inline]] inline bool accumulate(const void* origin_addr, Count origin_count,
                                              MPI_Datatype origin_datatype, int target_rank,
                                              MPI_Aint target_disp, Count target_count,
                                              MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  if (!may_begin() || origin_count != 1 || target_count != 1 || origin_datatype != target_datatype ||
      is_odd(origin_addr) || op == MPI_NO_OP) {
    return false;
  }
  const InsideShortly inside;
  return combine(origin_addr, nullptr, origin_datatype, target_rank, target_disp, op, win);
}

[[gnu::always_inline]] inline bool fetch_and_op(const void* origin_addr, void* result_addr,
                                                MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                                                MPI_Op op, MPI_Win win) {
  if (!may_begin() || is_odd(result_addr) || (is_odd(origin_addr) && op != MPI_NO_OP)) return false;
  const InsideShortly inside;
  return combine(origin_addr, result_addr, datatype, target_rank, target_disp, op, win);
}

[[gnu::always_inline]] inline bool win_flush(int rank, MPI_Win win) {
  if (!may_begin()) return false;
  const InsideShortly inside;
  const rma::Window* const window = window_of(win, rank);
  return window != nullptr && window->flush_inline(rank);
}

[[gnu::always_inline]] inline bool win_flush_local(int rank, MPI_Win win) {
  return win_flush(rank, win);
}

[[gnu::always_inline]] inline bool win_lock(int lock_type, int rank, int assertions, MPI_Win win) {
  if (!may_begin()) return false;
  const InsideShortly inside;
  rma::Window* const window = window_of(win, rank);
  return window != nullptr && window->lock_inline(lock_type, rank, assertions);
}

[[gnu::always_inline]] inline bool win_unlock(int rank, MPI_Win win) {
  if (!may_begin()) return false;
  const InsideShortly inside;
  rma::Window* const window = window_of(win, rank);
  return window != nullptr && window->unlock_inline(rank);
}

}  // namespace hearth::abi::inline_path
