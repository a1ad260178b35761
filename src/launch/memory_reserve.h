// Memory that mpiexec keeps for the report of a rank that the kernel has killed because memory ran out. What
// that rank had in shared memory stays while the job lasts, so its end frees little: without a reserve,
// mpiexec's next page may be the reason to kill mpiexec.
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

  /// Without memory for it there is none.
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
