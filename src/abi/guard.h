// The lock of functions that may be called at any time, even before MPI_Init sets the thread level (info
// objects, error handlers, error codes; MPI 5.0 section 11.4.1). None of them is performance-critical.
#pragma once

#include <mutex>
#include <new>

#include "base/inside.h"
#include "base/lock.h"

namespace hearth::abi {

class AnyTimeGuard {
 public:
  // The library's lock comes first: a callback that runs under it may call such functions, and the opposite
  // order would deadlock. `library_` stores whether it was locked, because the call itself may enable the
  // lock.
  AnyTimeGuard() : entered_(Inside::set_mark(Inside::kAnyTimeCall)) {
    if (!entered_) return;
    mutex_.lock();
    // `enabled` changes once, under the mutex. A signal handler that interrupted a call must not take the
    // library's lock: its thread may hold it already, or be acquiring it.
    library_ = LibraryLock::enabled && !Inside::has_mark(Inside::kCall);
    if (!library_) return;
    mutex_.unlock();
    LibraryLock::lock();
    mutex_.lock();
  }
  ~AnyTimeGuard() {
    if (!entered_) return;
    mutex_.unlock();
    if (library_) LibraryLock::unlock();
    Inside::clear_mark(Inside::kAnyTimeCall);
  }
  AnyTimeGuard(const AnyTimeGuard&) = delete;
  AnyTimeGuard& operator=(const AnyTimeGuard&) = delete;

  /// False in a signal handler that interrupted such a function: no lock is held then.
  bool entered() const { return entered_; }

  /// Called in a child made by fork, which lacks the threads that held the lock.
  static void forget_holders() { new (&mutex_) std::recursive_mutex; }

 private:
  static inline std::recursive_mutex mutex_;
  bool entered_;
  bool library_ = false;
};

}  // namespace hearth::abi
