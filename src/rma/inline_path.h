// The frequent cases of one-sided operations, compiled into the entry points (abi/inline_path_rma.h). The
// target's part is accessed by loads and stores, so a put is a check and a copy. Each function checks its
// preconditions and changes nothing unless it succeeds, except that lock_inline() marks an exclusive lock
// that it does not get as wanted. All other cases take the regular path in src/rma/access.cpp and sync.cpp.
//
// Synchronization of windows in which some process needs messages takes the regular path, since it has to
// make progress.
#pragma once

#include "base/atomic.h"
#include "base/copy.h"
#include "mpi.h"
#include "rma/part_lock.h"
#include "rma/window.h"

namespace hearth::rma {

[[gnu::always_inline]] inline std::byte* Window::reach_inline(int rank, int64_t displacement,
                                                              int64_t bytes) const {
  const Access& access = access_[static_cast<size_t>(rank)];
  int64_t offset;
  const bool in_epoch = access.held >= Held::shared || fence_open_ || access.started;
  if (!in_epoch || access.memory == nullptr || bytes > access.bytes ||
      __builtin_mul_overflow(displacement, access.displacement_unit, &offset) || offset < 0 ||
      offset > access.bytes - bytes) {
    return nullptr;
  }
  return access.memory + offset;
}

[[gnu::always_inline]] inline bool Window::accumulate_inline(const void* origin, void* result,
                                                             const Type& type, const objects::Op& op,
                                                             int rank, std::byte* target) {
  using objects::OpKind;
  datatype::ReduceKernel* kernel = nullptr;
  if (op.kind != OpKind::no_op && op.kind != OpKind::replace) {
    kernel = datatype::reduce_kernel(op.kind, type.element);
    if (kernel == nullptr) return false;
  }
  shm::WindowBoard* const board = board_of(rank);
  // Pairs with the release below, in any process.
  if (board == nullptr || !atomic::compare_exchange(board->accumulate_lock, uint32_t{0},
                                                    static_cast<uint32_t>(p2p::engine().self()) + 1)) {
    return false;
  }
  const auto bytes = static_cast<size_t>(type.size);
  if (result != nullptr) copy_line(result, target, bytes);
  if (kernel != nullptr) {
    kernel(origin, target, target, 1);
  } else if (op.kind == OpKind::replace) {
    copy_line(target, origin, bytes);
  }
  atomic::store_release(board->accumulate_lock, uint32_t{0});
  return true;
}

[[gnu::always_inline]] inline bool Window::flush_inline(int rank) const {
  if (by_messages_ || (access_[static_cast<size_t>(rank)].held < Held::shared && !all_locked_)) return false;
  // Stores of this process are visible to all processes before its later loads.
  atomic::fence_full();
  return true;
}

[[gnu::always_inline]] inline bool Window::lock_inline(int lock_type, int rank, int assertions) {
  Access& access = access_[static_cast<size_t>(rank)];
  const bool exclusive = lock_type == MPI_LOCK_EXCLUSIVE;
  if (assertions != 0 || (!exclusive && lock_type != MPI_LOCK_SHARED) || by_messages_ || started_ ||
      posted_ || all_locked_ || access.held != Held::no ||
      !PartLock(*access.board).try_lock(exclusive, p2p::engine().self())) {
    return false;
  }
  if (!exclusive) SharedHolds(*own_.board).set(rank, true);
  access.held = exclusive ? Held::exclusive : Held::shared;
  fence_open_ = false;
  ++locks_;
  return true;
}

[[gnu::always_inline]] inline bool Window::unlock_inline(int rank) {
  Access& access = access_[static_cast<size_t>(rank)];
  const bool exclusive = access.held == Held::exclusive;
  if (by_messages_ || all_locked_ || (!exclusive && access.held != Held::shared)) return false;
  access.held = Held::no;
  --locks_;
  if (!exclusive) SharedHolds(*own_.board).set(rank, false);
  // The full fence in unlock() also makes this process's stores visible before its later loads.
  if (PartLock(*access.board).unlock(exclusive)) wake_all();
  return true;
}

}  // namespace hearth::rma
