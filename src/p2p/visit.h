// A visit to the memory of another process by calls of the system: each takes the lock on that process's
// pages, so that beyond some number visitors only wait for each other. The count lies in the segment, at the
// desk of the process that is visited. A visitor that dies while it counts is counted until the job ends.
//
// Made and unmade by the engine around a copy, under the library's lock.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "shm/layout.h"

namespace hearth::p2p {

class Visit {
 public:
  /// `desk`: nullptr where visits are not counted.
  Visit(shm::CopyDesk* desk, uint32_t visitors_max)
      : desk_(desk), allowed_(desk == nullptr || atomic::fetch_add(desk->visitors, 1u) < visitors_max) {}
  ~Visit() {
    if (desk_ != nullptr) atomic::fetch_add(desk_->visitors, ~0u);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  /// False: there are as many as there may be.
  bool allowed() const { return allowed_; }

 private:
  shm::CopyDesk* const desk_;
  const bool allowed_;
};

}  // namespace hearth::p2p
