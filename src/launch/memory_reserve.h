// Memory that mpiexec keeps for the report of a rank that the kernel has killed because memory ran out. The
// rank's shared memory remains while the job lasts, so its end frees little: without a reserve, mpiexec's
// next page may make the kernel kill mpiexec.
#pragma once

#include <cstddef>

#include "base/os_memory.h"

namespace hearth::launch {

class MemoryReserve {
 public:
  MemoryReserve() = default;
  ~MemoryReserve() { release(); }
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  /// Allocates the reserve. If that fails, mpiexec runs without it.
  void take() {
    if (pages_ == nullptr) pages_ = os::map_private(kBytes);
    if (pages_ != nullptr) os::populate_pages(pages_, kBytes);
  }
  void release() {
    if (pages_ != nullptr) os::release(pages_, kBytes);
    pages_ = nullptr;
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 20;
  void* pages_ = nullptr;
};

}  // namespace hearth::launch
