#include "p2p/wait_publisher.h"

#include "base/atomic.h"
#include "base/lock.h"
#include "base/os_stack.h"
#include "base/os_wait.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::p2p {
namespace {

// Period after which the arrivals in a collective are refreshed; a sleeping thread wakes half as often.
constexpr uint64_t kFreshNs = 50'000'000;
// Time without progress after which the rank publishes that it stands still: less than a lasting wait
// (launch/why.h).
constexpr uint64_t kStandstillNs = 400'000'000;
// Time after which a program that only tests or probes is reported as polling.
constexpr uint64_t kPollingNs = 10'000'000;

/// Seqlock write section: readers see all of its stores or none.
class Writing {
 public:
  explicit Writing(shm::WaitRecord& record) : record_(record) {
    // Pairs with the reader's two loads of the version (launch/snapshot.cpp).
    atomic::store_relaxed(record_.version, record_.version + 1);
    atomic::fence_full();
  }
  ~Writing() { atomic::store_release(record_.version, record_.version + 1); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  shm::WaitRecord& record_;
};

void show_caller(shm::WaitEntry& entry) {
  entry.thread = static_cast<uint32_t>(os::thread_id());
  entry.caller_count = static_cast<uint32_t>(os::callers(entry.callers));
}

// Heartbeat for the deadlock detection: this rank has polled after other ranks acted, and no message is
// arriving in fragments.
void show_standstill(shm::WaitEntry& entry, uint64_t still_since_ns, uint64_t now_ns) {
  if (now_ns >= still_since_ns + kStandstillNs) atomic::store_relaxed(entry.beat_ns, now_ns);
}

/// Increases with every entry that is added or removed.
uint64_t changes(const MatchQueue& queue) {
  return 2 * queue.total() - queue.size();
}

}  // namespace

uint64_t WaitPublisher::queue_changes() const {
  return changes(matching_.posted()) + changes(matching_.unexpected());
}

// Publishes the queues besides the waits: messages without a receive and receives without a message.
void WaitPublisher::show_queues() {
  shm::WaitRecord& record = *record_;
  record.threads_multiple = LibraryLock::enabled ? 1 : 0;
  record.unexpected_count = static_cast<uint32_t>(matching_.unexpected().size());
  record.posted_count = static_cast<uint32_t>(matching_.posted().size());
  int at = 0;
  for (const MatchEntry* entry = matching_.unexpected().first(); entry != nullptr && at < shm::kQueuedMax;
       entry = entry->order.next) {
    const auto& message = *static_cast<const UnexpectedMessage*>(static_cast<const MatchMessage*>(entry));
    record.unexpected[at++] = show_queued(record, message.key, static_cast<uint64_t>(message.bytes));
  }
  at = 0;
  for (const MatchEntry* entry = matching_.posted().first(); entry != nullptr && at < shm::kQueuedMax;
       entry = entry->order.next) {
    const auto& request = *static_cast<const Request*>(entry);
    const int64_t bytes = request.type == nullptr ? 0 : request.count * request.type->size;
    record.posted[at++] = show_queued(record, request.key, static_cast<uint64_t>(bytes));
  }
}

void WaitPublisher::show(Waiter& waiter, uint64_t now_ns) {
  if (on_long_wait_ != nullptr) on_long_wait_();
  if (record_ == nullptr) return;
  ShownWait& shown = waiter.shown;
  const uint64_t queues = queue_changes();
  const bool first = shown.at == ShownWait::kNotShown;
  if (shown.at >= 0) show_standstill(record_->waits[shown.at], waiter.since_ns, now_ns);
  const bool is_fresh = queues == shown.queues_seen && now_ns < shown.shown_ns + kFreshNs;
  if (!first && (is_fresh || shown.at == ShownWait::kNoPlace)) return;
  shown.queues_seen = queues;
  shown.shown_ns = now_ns;
  publish(waiter, first);
}

void WaitPublisher::publish(Waiter& waiter, bool first) {
  ShownWait& shown = waiter.shown;
  shm::WaitRecord& record = *record_;
  if (first) {
    waiter.noted = true;
    shown.at = ShownWait::kNoPlace;
    for (int i = 0; i < shm::kWaitsMax && shown.at == ShownWait::kNoPlace; ++i) {
      if (record.waits[i].kind == static_cast<uint32_t>(shm::WaitKind::none)) shown.at = i;
    }
  }
  const Writing writing(record);
  if (shown.at == ShownWait::kNoPlace) {
    ++record.waits_left_out;
    return;
  }
  shm::WaitEntry& entry = record.waits[shown.at];
  if (first) {
    entry.since_ns = waiter.began_ns;
    show_caller(entry);
  }
  WaitDiagnostics note(requests_, record, entry);
  waiter.describe(note);
  show_queues();
}

void WaitPublisher::hide_shown(const Waiter& waiter) {
  shm::WaitRecord& record = *record_;
  if (waiter.shown.at == ShownWait::kNoPlace) {
    const Writing writing(record);
    --record.waits_left_out;
  } else {
    shm::WaitEntry& entry = record.waits[waiter.shown.at];
    atomic::store_relaxed(entry.beat_ns, os::now_ns());
    atomic::store_relaxed(entry.kind, static_cast<uint32_t>(shm::WaitKind::none));
  }
}

void WaitPublisher::note_polling(const MatchKey* probe) {
  if (record_ == nullptr) return;
  const uint64_t now = os::now_ns();
  if (polling_since_ns_ == 0) polling_since_ns_ = now;
  if (now - polling_since_ns_ < kPollingNs) return;
  if (on_long_wait_ != nullptr) on_long_wait_();
  shm::WaitRecord& record = *record_;
  atomic::store_relaxed(record.polling.beat_ns, now);
  const uint64_t queues = queue_changes();
  if (polling_shown_ && queues == polling_queues_seen_) return;
  const Writing writing(record);
  if (!polling_shown_) {
    record.polling.since_ns = polling_since_ns_;
    show_caller(record.polling);
  }
  polling_shown_ = true;
  polling_queues_seen_ = queues;
  WaitDiagnostics note(requests_, record, record.polling);
  note.polling(probe);
  show_queues();
}

void WaitPublisher::hide_polling() {
  polling_since_ns_ = 0;
  if (!polling_shown_) return;
  polling_shown_ = false;
  atomic::store_relaxed(record_->polling.kind, static_cast<uint32_t>(shm::WaitKind::none));
}

}  // namespace hearth::p2p
