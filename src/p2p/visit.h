// A visit to the memory of another process by calls of the system: each takes the lock on that process's
// pages, so that beyond some number visitors only wait for each other. Who visits stands at the desk of the
// process that is visited, in the segment; what a visitor that died leaves there goes with its burial.
//
// Made and unmade by the engine around a copy, under the library's lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/atomic.h"
#include "base/chaos.h"
#include "shm/layout.h"

namespace hearth::p2p {

class Visit {
 public:
  /// `desk`: nullptr where visits are not counted. `visitor`: this process's number in the segment. More
  /// visitors than a desk has places for are not counted either.
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

  /// False: there are as many as there may be.
  bool allowed() const { return !counted_ || place_ != nullptr; }

  /// Ends the visits of a process that has died. Whoever does it first, a place is given back once.
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
