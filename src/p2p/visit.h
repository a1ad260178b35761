// Limits the concurrent CMA accesses to one process. Each system call takes the lock on the target's page
// tables, so beyond some number the callers only wait for each other. A caller registers in a slot of the
// target's control block (shm::CopyDesk) in the segment. When a caller has died, its slots are cleared as it
// is reaped.
//
// Constructed and destroyed by the engine around a copy, under the library's lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/atomic.h"
#include "base/chaos.h"
#include "shm/layout.h"

namespace hearth::p2p {

class Visit {
 public:
  /// `desk`: the target's control block; nullptr if its accesses are not counted. The last argument is the
  /// local rank of this process. A limit above the number of slots is not enforced.
  Visit(shm::CopyDesk* desk, uint32_t visitors_max, int visitor)
      : counted_(desk != nullptr && visitors_max <= shm::kVisitorsMax) {
    for (uint32_t i = 0; counted_ && i < visitors_max && place_ == nullptr; ++i) {
      uint32_t& place = desk->visitors[i];
      if (atomic::load_relaxed(place) == 0 && atomic::compare_exchange(place, 0u, word_of(visitor))) {
        place_ = &place;
      }
    }
    if (allowed()) chaos::at(chaos::Point::visiting);
  }
  ~Visit() {
    if (place_ != nullptr) atomic::store_release(*place_, 0u);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  /// False: the limit is reached.
  bool allowed() const { return !counted_ || place_ != nullptr; }

  /// Clears the slots of a process that has died. Several processes may do so; the compare-exchange frees
  /// each slot once.
  static void end_of(shm::CopyDesk& desk, int visitor) {
    for (uint32_t& place : desk.visitors) {
      const uint32_t word = word_of(visitor);
      if (atomic::load_relaxed(place) == word) static_cast<void>(atomic::compare_exchange(place, word, 0u));
    }
  }
  static int count(const shm::CopyDesk& desk) {
    return static_cast<int>(std::ranges::count_if(
        desk.visitors, [](const uint32_t& place) { return atomic::load_relaxed(place) != 0; }));
  }

 private:
  static uint32_t word_of(int visitor) { return static_cast<uint32_t>(visitor) + 1; }

  const bool counted_;
  uint32_t* place_ = nullptr;
};

}  // namespace hearth::p2p
