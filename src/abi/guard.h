// The lock of functions that may be called at any time, even before MPI_Init says whether threads are in use
// (info objects, error handlers, error codes; MPI 5.0 section 11.4.1). They are off every fast path.
#pragma once

#include <mutex>
#include <new>

#include "base/inside.h"
#include "base/lock.h"

namespace hearth::abi {

class AnyTimeGuard {
 public:
  // The library's lock first: a callback that runs under it may call functions of this kind, and the other
  // order would then deadlock. What was locked is remembered, because the call itself may enable the lock.
  AnyTimeGuard() : entered_(Inside::set_mark(Inside::kAnyTimeCall)) {
    if (!entered_) return;
    mutex_.lock();
    // Which changes under the mutex only, and once. In a signal handler that interrupted a call the thread
    // may have that lock, or half of it.
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

  /// False in a signal handler that interrupted such a function: nothing is locked then.
  bool entered() const { return entered_; }

  /// In a child made by fork: threads that held it are not there any more.
  static void forget_holders() { new (&mutex_) std::recursive_mutex; }

 private:
  static inline std::recursive_mutex mutex_;
  bool entered_;
  bool library_ = false;
};

}  // namespace hearth::abi
