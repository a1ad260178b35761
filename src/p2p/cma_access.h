// Limits the concurrent CMA accesses to one process. Each system call takes the lock on the target's page
// tables, so beyond some number the callers only wait for each other. A caller registers in a slot of the
// target's control block (shm::CopyControlBlock) in the segment. When a caller has died, its slots are
// cleared as it is reaped.
//
// Constructed and destroyed by the engine around a copy, under the library's lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/atomic.h"
#include "base/chaos.h"
#include "shm/layout.h"

namespace hearth::p2p {

class CmaAccess {
 public:
  /// `control_block`: the target's control block; nullptr if its accesses are not counted. The last argument
  /// is the local rank of this process. A limit above the number of slots is not enforced.
  CmaAccess(shm::CopyControlBlock* control_block, uint32_t cma_accesses_max, int process)
      : counted_(control_block != nullptr && cma_accesses_max <= shm::kCmaAccessesMax) {
    for (uint32_t i = 0; counted_ && i < cma_accesses_max && place_ == nullptr; ++i) {
      uint32_t& place = control_block->cma_accesses[i];
      if (atomic::load_relaxed(place) == 0 && atomic::compare_exchange(place, 0u, word_of(process))) {
        place_ = &place;
      }
    }
    if (allowed()) chaos::at(chaos::Point::cma_access);
  }
  ~CmaAccess() {
    if (place_ != nullptr) atomic::store_release(*place_, 0u);
  }
  CmaAccess(const CmaAccess&) = delete;
  CmaAccess& operator=(const CmaAccess&) = delete;

  /// False: the limit is reached.
  bool allowed() const { return !counted_ || place_ != nullptr; }

  /// Clears the slots of a process that has died. Several processes may do so; the compare-exchange frees
  /// each slot once.
  static void end_of(shm::CopyControlBlock& control_block, int process) {
    for (uint32_t& place : control_block.cma_accesses) {
      const uint32_t word = word_of(process);
      if (atomic::load_relaxed(place) == word) static_cast<void>(atomic::compare_exchange(place, word, 0u));
    }
  }
  static int count(const shm::CopyControlBlock& control_block) {
    return static_cast<int>(std::ranges::count_if(
        control_block.cma_accesses, [](const uint32_t& place) { return atomic::load_relaxed(place) != 0; }));
  }

 private:
  static uint32_t word_of(int process) { return static_cast<uint32_t>(process) + 1; }

  const bool counted_;
  uint32_t* place_ = nullptr;
};

}  // namespace hearth::p2p
