// The library's one lock. Every MPI call holds it while it touches the library's state, so that all inner
// code is written for one thread at a time. Where the program did not ask for MPI_THREAD_MULTIPLE it is
// never taken: one predictable branch.
//
// A thread that waits inside MPI gives the lock up between two looks (LibraryLock::breathe). User callbacks
// (reduction, error handler, attribute functions) run with the lock held and may call MPI again: the lock
// counts its owner's entries.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "base/atomic.h"

namespace hearth {

class LibraryLock {
 public:
  /// Set once by MPI_Init_thread, before a second thread may call MPI.
  static inline bool enabled = false;

  static void lock() {
    if (__builtin_expect(enabled, 0)) lock_slow();
  }
  static void unlock() {
    if (__builtin_expect(enabled, 0)) unlock_slow();
  }
  /// Lets other threads in, if any waits. Called by a waiting loop that found nothing to do; whatever the
  /// caller knows about shared state may be different afterwards.
  static void breathe() {
    if (__builtin_expect(enabled, 0)) breathe_slow();
  }

  /// Gives the lock up entirely, whatever its depth, and takes it back: around a sleep.
  static uint32_t release_all();
  static void acquire_all(uint32_t depth);

 private:
  static void lock_slow();
  static void unlock_slow();
  static void breathe_slow();

  // A plain mutex, which is fast, plus two counts that keep it fair: a thread that only polls (breathe)
  // stands back until one of the waiters has had its turn.
  static inline pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  static inline uint32_t waiters_ = 0;
  static inline uint32_t turns_ = 0;  // how often the lock was taken
  static inline uint32_t depth_ = 0;  // entries of the owner; guarded by mutex_
  static inline uint64_t owner_ = 0;  // thread that holds mutex_, 0 for none
};

/// Holds the lock for a scope.
class LockGuard {
 public:
  LockGuard() { LibraryLock::lock(); }
  ~LockGuard() { LibraryLock::unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;
};

}  // namespace hearth
