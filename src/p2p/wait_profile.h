// Waits for --profile and --trace. They are measured by the clock readings that a waiting loop makes anyway,
// so shorter waits are not recorded. Copies made during a wait do not count as waiting.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstdint>

#include "base/pool.h"
#include "p2p/request.h"
#include "p2p/waiter.h"

namespace hearth::profile {
class Recorder;
}

namespace hearth::p2p {

class WaitProfile {
 public:
  /// `recorder`: nullptr without --profile and --trace. `requests`: all requests, for the description of a
  /// wait.
  WaitProfile(profile::Recorder* recorder, const Pool<Request>& requests)
      : recorder_(recorder), requests_(requests) {}

  bool active() const { return recorder_ != nullptr; }
  /// The waiting loop has read the clock. `idle_begins`: for the first time since it made progress. Pre:
  /// active().
  void read_clock(Waiter& waiter, uint64_t now_ns, bool idle_begins);
  /// The wait is over.
  void end(Waiter& waiter) {
    if (waiter.profiled) count_last(waiter);
  }

 private:
  void describe(const Waiter& waiter, ProfiledWait& wait);
  void count(ProfiledWait& wait) const;
  void count_last(Waiter& waiter);

  profile::Recorder* const recorder_;
  const Pool<Request>& requests_;
};

}  // namespace hearth::p2p
