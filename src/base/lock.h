// The library's only lock. Every MPI call holds it while it accesses the library's state, so that all inner
// code is single-threaded. If the program did not ask for MPI_THREAD_MULTIPLE, the lock is never taken, which
// costs one predictable branch.
//
// A thread that waits inside MPI yields the lock between two polls. User callbacks (reduction, error handler,
// attribute functions) run with the lock held and may call MPI again: the lock is recursive.
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
  /// Yields the lock if other threads wait for it. Called in a wait loop whose poll found nothing; the shared
  /// state may have changed afterwards.
  static void yield_lock() {
    if (__builtin_expect(enabled, 0)) yield_lock_slow();
  }

  /// Releases the lock at any depth, and acquires it again: around a sleep.
  static uint32_t release_all();
  static void acquire_all(uint32_t depth);

 private:
  static void lock_slow();
  static void unlock_slow();
  static void yield_lock_slow();

  // A plain mutex, which is fast, plus two counts that keep it fair: a thread that only polls leaves the lock
  // free until a waiter has acquired it.
  static inline pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  static inline uint32_t waiters_ = 0;
  static inline uint32_t turns_ = 0;  // how often the lock was acquired
  static inline uint32_t depth_ = 0;  // recursion depth of the owner; guarded by mutex_
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
