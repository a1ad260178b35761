// The lock of functions that may be called at any time, even before MPI_Init says whether threads are in use
// (info objects, error handlers, error codes; MPI 5.0 section 11.4.1). They are off every fast path.
#pragma once

#include <mutex>
#include <new>

#include "base/lock.h"

namespace hearth::abi {

class AnyTimeGuard {
 public:
  // The library's lock first: a callback that runs under it may call functions of this kind, and the other
  // order would then deadlock. What was locked is remembered, because the call itself may enable the lock.
  AnyTimeGuard() {
    mutex_.lock();
    library_ = LibraryLock::enabled;  // which changes under the mutex only, and once
    if (!library_) return;
    mutex_.unlock();
    LibraryLock::lock();
    mutex_.lock();
  }
  ~AnyTimeGuard() {
    mutex_.unlock();
    if (library_) LibraryLock::unlock();
  }
  AnyTimeGuard(const AnyTimeGuard&) = delete;
  AnyTimeGuard& operator=(const AnyTimeGuard&) = delete;

  /// In a child made by fork: threads that held it are not there any more.
  static void forget_holders() { new (&mutex_) std::recursive_mutex; }

 private:
  static inline std::recursive_mutex mutex_;
  bool library_ = false;
};

}  // namespace hearth::abi
