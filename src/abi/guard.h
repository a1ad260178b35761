// The lock of functions that may be called at any time, even before MPI_Init says whether threads are in use
// (info objects, error handlers, error codes; MPI 5.0 section 11.4.1). They are off every fast path.
#pragma once

#include <mutex>

#include "base/lock.h"

namespace hearth::abi {

class AnyTimeGuard {
 public:
  // The library's lock first: a callback that runs under it may call functions of this kind, and the other
  // order would then deadlock. What was locked is remembered, because MPI_Init may enable the lock meanwhile.
  AnyTimeGuard() : library_(LibraryLock::enabled) {
    if (library_) LibraryLock::lock();
    mutex_.lock();
  }
  ~AnyTimeGuard() {
    mutex_.unlock();
    if (library_) LibraryLock::unlock();
  }
  AnyTimeGuard(const AnyTimeGuard&) = delete;
  AnyTimeGuard& operator=(const AnyTimeGuard&) = delete;

 private:
  static inline std::recursive_mutex mutex_;
  const bool library_;
};

}  // namespace hearth::abi
