// Publishes lasting waits of this process in the wait diagnostics of its rank, with its queues, and a program
// that polls without end (p2p/wait_diagnostics.h).
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstdint>

#include "base/pool.h"
#include "p2p/matching.h"
#include "p2p/request.h"
#include "p2p/waiter.h"
#include "shm/wait_record.h"

namespace hearth::p2p {

class WaitPublisher {
 public:
  /// `record`: nullptr if nothing is published. `on_long_wait` is called repeatedly by waits that last; may
  /// be nullptr.
  WaitPublisher(shm::WaitRecord* record, const Pool<Request>& requests, const Matching& matching,
                void (*on_long_wait)())
      : record_(record), requests_(requests), matching_(matching), on_long_wait_(on_long_wait) {}

  /// A wait lasts. Called repeatedly.
  void show(Waiter& waiter, uint64_t now_ns);
  /// The wait is over.
  void hide(const Waiter& waiter) {
    if (waiter.shown.at != ShownWait::kNotShown) hide_shown(waiter);
  }

  /// The program has polled in vain many times; `probe`: by a probe with this key, or nullptr.
  void note_polling(const MatchKey* probe);
  /// Something has advanced.
  void end_polling() {
    if (__builtin_expect(polling_since_ns_ != 0, 0)) hide_polling();
  }

 private:
  void publish(Waiter& waiter, bool first);
  void hide_shown(const Waiter& waiter);
  void hide_polling();
  void show_queues();
  /// Changes with every entry that is added to a queue or removed.
  uint64_t queue_changes() const;

  shm::WaitRecord* const record_;
  const Pool<Request>& requests_;
  const Matching& matching_;
  void (*const on_long_wait_)();
  uint64_t polling_since_ns_ = 0;  // first clock reading of note_polling(); 0: none
  bool polling_shown_ = false;
  uint64_t polling_queues_seen_ = 0;
};

}  // namespace hearth::p2p
