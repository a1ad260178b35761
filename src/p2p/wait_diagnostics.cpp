// Wait diagnostics of this rank: its waits, its queues, and the communicators that these name.
#include "p2p/wait_diagnostics.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/atomic.h"
#include "base/contexts.h"
#include "base/os_stack.h"
#include "base/os_wait.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::p2p {
namespace {

// Request slots that are scanned at most: a program may have had millions.
constexpr size_t kLookedAtMax = 65536;
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
  explicit Writing(shm::WaitPage& page) : page_(page) {
    // Pairs with the reader's two loads of the version (launch/snapshot.cpp).
    atomic::store_relaxed(page_.version, page_.version + 1);
    atomic::fence_full();
  }
  ~Writing() { atomic::store_release(page_.version, page_.version + 1); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  shm::WaitPage& page_;
};

const objects::Comm* show_comm(shm::WaitPage& page, uint32_t context) {
  const objects::Comm* comm = comm_of(context);
  if (comm == nullptr) return nullptr;
  shm::ShownComm* place = nullptr;
  for (shm::ShownComm& shown : page.comms) {
    if (shown.size != 0 && shown.context == comm->context) place = &shown;
  }
  if (place == nullptr) place = &page.comms[page.next_comm++ % shm::kShownCommsMax];
  *place = {};
  place->context = comm->context;
  place->rank = comm->rank;
  place->size = comm->size;
  const shm::CommKind kind = comm->of_window    ? shm::CommKind::window
                             : comm->is_inter() ? shm::CommKind::inter
                                                : shm::CommKind::intra;
  place->kind = static_cast<uint32_t>(kind);
  std::snprintf(place->name, sizeof place->name, "%s", comm->name.c_str());
  for (int rank = 0; rank < comm->peer_count; ++rank) {
    const auto process = static_cast<size_t>(comm->peers[rank]);
    if (process / 64 < shm::kMemberWords) place->members[process / 64] |= uint64_t{1} << process % 64;
  }
  return comm;
}

void show_caller(shm::WaitEntry& entry) {
  entry.thread = static_cast<uint32_t>(os::thread_id());
  entry.caller_count = static_cast<uint32_t>(os::callers(entry.callers));
}

// Heartbeat for the deadlock detection: this rank has polled after other ranks acted, and no message is
// arriving in fragments.
void show_look(shm::WaitEntry& entry, uint64_t still_since_ns, uint64_t now_ns) {
  if (now_ns >= still_since_ns + kStandstillNs) atomic::store_relaxed(entry.beat_ns, now_ns);
}

void clear_operations(shm::WaitEntry& entry) {
  entry.any_suffices = 0;
  entry.operation_count = 0;
  entry.missing_count = 0;
}

/// Increases with every entry that is added or removed.
uint64_t changes(const MatchQueue& queue) {
  return 2 * queue.total() - queue.size();
}

shm::QueuedMessage queued(shm::WaitPage& page, const MatchKey& key, uint64_t bytes) {
  show_comm(page, key.context);
  return {key.peer, key.tag, key.context, 0, bytes};
}

}  // namespace

WaitDiagnostics::WaitDiagnostics(Engine& engine, shm::WaitPage& page, shm::WaitEntry& entry)
    : WaitDiagnostics(engine, entry) {
  page_ = &page;
}

WaitDiagnostics::WaitDiagnostics(Engine& engine, shm::WaitEntry& entry) : engine_(engine), entry_(entry) {
  clear_operations(entry_);
  atomic::store_relaxed(entry_.kind, static_cast<uint32_t>(shm::WaitKind::request));
}

// The first entry decides the kind; a second one changes it to `request`.
void WaitDiagnostics::kind(shm::WaitKind kind) {
  const bool first = entry_.operation_count == 0 && entry_.missing_count == 0;
  if (entry_.kind == static_cast<uint32_t>(shm::WaitKind::finalize)) return;
  if (entry_.kind == static_cast<uint32_t>(shm::WaitKind::polling)) return;
  atomic::store_relaxed(entry_.kind, static_cast<uint32_t>(first ? kind : shm::WaitKind::request));
}

void WaitDiagnostics::operation(shm::WaitKind kind, const MatchKey& key, uint64_t bytes,
                                const datatype::Type* type) {
  const uint32_t index = entry_.operation_count++;
  const objects::Comm* comm = page_ == nullptr ? nullptr : show_comm(*page_, key.context);
  if (index >= shm::kOperationsMax) return;
  entry_.operations[index] = {
      .kind = static_cast<uint32_t>(kind),
      .peer = key.peer,
      .peer_rank = comm == nullptr || key.peer < 0 ? MPI_UNDEFINED : comm->rank_of(key.peer),
      .tag = key.tag,
      .context = key.context,
      .type = type == nullptr ? 0 : type->predefined,
      .bytes = bytes,
      .collective = {}};
}

void WaitDiagnostics::request(const Request& request) {
  const bool is_message = request.kind == RequestKind::send || request.kind == RequestKind::receive;
  if (is_message && is_collective(request.key.context)) {
    collective(request.key.context);
    return missing(request.key.peer);
  }
  if (is_message) {
    const auto way = request.kind == RequestKind::send ? shm::WaitKind::send : shm::WaitKind::receive;
    const int64_t bytes = request.type == nullptr ? 0 : request.count * request.type->size;
    kind(way);
    return operation(way, request.key, static_cast<uint64_t>(bytes), request.type);
  }
  if (request.hooks != nullptr && request.hooks->describe != nullptr) {
    return request.hooks->describe(request, *this);
  }
  kind(shm::WaitKind::request);
  operation(shm::WaitKind::request, {request.key.context, MPI_PROC_NULL, request.key.tag}, 0, nullptr);
}

void WaitDiagnostics::probe(const MatchKey& key) {
  kind(shm::WaitKind::probe);
  operation(shm::WaitKind::probe, key, 0, nullptr);
}

void WaitDiagnostics::named(shm::WaitKind which, uint32_t context, PeerIndex peer, std::string_view name) {
  kind(which);
  operation(which, {context, peer, 0}, 0, nullptr);
  if (entry_.operation_count > shm::kOperationsMax) return;
  shm::AwaitedOperation& written = entry_.operations[entry_.operation_count - 1];
  name.copy(written.collective, sizeof written.collective - 1);
}

void WaitDiagnostics::collective(uint32_t context, std::string_view name) {
  named(shm::WaitKind::collective, context, MPI_PROC_NULL, name);
  root(shm::kNoRoot);
}

void WaitDiagnostics::root(int rank) {
  if (entry_.operation_count == 0 || entry_.operation_count > shm::kOperationsMax) return;
  entry_.operations[entry_.operation_count - 1].tag = rank;
}

void WaitDiagnostics::call(uint32_t context, PeerIndex peer, std::string_view name) {
  named(shm::WaitKind::call, context, peer, name);
}

void WaitDiagnostics::progress(uint32_t context, PeerIndex peer) {
  named(shm::WaitKind::progress, context, peer, {});
}

void WaitDiagnostics::lock(uint32_t context, PeerIndex target, uint64_t holders) {
  kind(shm::WaitKind::lock);
  operation(shm::WaitKind::lock, {context, target, 0}, holders, nullptr);
}

void WaitDiagnostics::missing(PeerIndex process) {
  for (uint32_t i = 0; i < std::min<uint32_t>(entry_.missing_count, shm::kMissingMax); ++i) {
    if (entry_.missing[i] == process) return;
  }
  if (entry_.missing_count < shm::kMissingMax) entry_.missing[entry_.missing_count] = process;
  ++entry_.missing_count;
}

template <class Function>
void WaitDiagnostics::for_requests(const Function& function) const {
  const size_t slots = std::min(engine_.requests().pool().slots_used(), kLookedAtMax);
  for (size_t slot = 0; slot < slots; ++slot) {
    const Request* request = engine_.requests().pool().at(slot);
    if (request != nullptr && request->active && !request->complete) function(*request);
  }
}

void WaitDiagnostics::missing_in_messages(uint32_t context, int tag) {
  for_requests([&](const Request& request) {
    if (request.key.context != context || request.key.tag != tag) return;
    if (request.kind == RequestKind::send || request.kind == RequestKind::receive) missing(request.key.peer);
  });
}

void WaitDiagnostics::left_requests(const objects::Comm& comm) {
  for_requests([&](const Request& left) {
    if (left.comm == &comm && left.handle_freed) request(left);
  });
}

void WaitDiagnostics::finalize() {
  atomic::store_relaxed(entry_.kind, static_cast<uint32_t>(shm::WaitKind::finalize));
  for_requests([&](const Request& left) {
    if (left.kind == RequestKind::send) request(left);
  });
}

void WaitDiagnostics::polling(const MatchKey* probed_for) {
  atomic::store_relaxed(entry_.kind, static_cast<uint32_t>(shm::WaitKind::polling));
  entry_.any_suffices = 1;
  if (probed_for != nullptr) return operation(shm::WaitKind::probe, *probed_for, 0, nullptr);
  for_requests([&](const Request& under_way) {
    if (under_way.group == nullptr) request(under_way);
  });
}

// Methods of the engine.

// Publishes the queues besides the waits: messages without a receive and receives without a message.
void Engine::show_queues() {
  shm::WaitPage& page = *wait_page_;
  page.threads_multiple = LibraryLock::enabled ? 1 : 0;
  page.unexpected_count = static_cast<uint32_t>(matching_.unexpected().size());
  page.posted_count = static_cast<uint32_t>(matching_.posted().size());
  int at = 0;
  for (const MatchEntry* entry = matching_.unexpected().first(); entry != nullptr && at < shm::kQueuedMax;
       entry = entry->order.next) {
    const auto& message = *static_cast<const UnexpectedMessage*>(static_cast<const MatchMessage*>(entry));
    page.unexpected[at++] = queued(page, message.key, static_cast<uint64_t>(message.bytes));
  }
  at = 0;
  for (const MatchEntry* entry = matching_.posted().first(); entry != nullptr && at < shm::kQueuedMax;
       entry = entry->order.next) {
    const auto& request = *static_cast<const Request*>(entry);
    const int64_t bytes = request.type == nullptr ? 0 : request.count * request.type->size;
    page.posted[at++] = queued(page, request.key, static_cast<uint64_t>(bytes));
  }
}

void Engine::show_wait(Waiter& waiter, uint64_t now_ns) {
  const uint64_t queues = changes(matching_.posted()) + changes(matching_.unexpected());
  const bool first = waiter.shown_at == kNotShown;
  if (waiter.shown_at >= 0) show_look(wait_page_->waits[waiter.shown_at], waiter.since_ns, now_ns);
  const bool is_fresh = queues == waiter.queues_seen && now_ns < waiter.shown_ns + kFreshNs;
  if (!first && (is_fresh || waiter.shown_at == kNoPlace)) return;
  waiter.queues_seen = queues;
  waiter.shown_ns = now_ns;
  shm::WaitPage& page = *wait_page_;
  if (first) {
    waiter.noted = true;
    waiter.shown_at = kNoPlace;
    for (int i = 0; i < shm::kWaitsMax && waiter.shown_at == kNoPlace; ++i) {
      if (page.waits[i].kind == static_cast<uint32_t>(shm::WaitKind::none)) waiter.shown_at = i;
    }
  }
  const Writing writing(page);
  if (waiter.shown_at == kNoPlace) {
    ++page.waits_left_out;
    return;
  }
  shm::WaitEntry& entry = page.waits[waiter.shown_at];
  if (first) {
    entry.since_ns = waiter.began_ns;
    show_caller(entry);
  }
  WaitDiagnostics note(*this, page, entry);
  waiter.describe(note);
  show_queues();
}

void Engine::hide_wait(const Waiter& waiter) {
  shm::WaitPage& page = *wait_page_;
  if (waiter.shown_at == kNoPlace) {
    const Writing writing(page);
    --page.waits_left_out;
  } else {
    shm::WaitEntry& entry = page.waits[waiter.shown_at];
    atomic::store_relaxed(entry.beat_ns, os::now_ns());
    atomic::store_relaxed(entry.kind, static_cast<uint32_t>(shm::WaitKind::none));
  }
}

void Engine::note_polling() {
  if (wait_page_ == nullptr) return;
  const uint64_t now = os::now_ns();
  if (polling_since_ns_ == 0) polling_since_ns_ = now;
  if (now - polling_since_ns_ < kPollingNs) return;
  if (check_liveness_ != nullptr) check_liveness_();
  shm::WaitPage& page = *wait_page_;
  atomic::store_relaxed(page.polling.beat_ns, now);
  const uint64_t queues = changes(matching_.posted()) + changes(matching_.unexpected());
  if (polling_shown_ && queues == polling_queues_seen_) return;
  const Writing writing(page);
  if (!polling_shown_) {
    page.polling.since_ns = polling_since_ns_;
    show_caller(page.polling);
  }
  polling_shown_ = true;
  polling_queues_seen_ = queues;
  WaitDiagnostics note(*this, page, page.polling);
  note.polling(probed_for_);
  show_queues();
}

void Engine::end_polling() {
  polling_since_ns_ = 0;
  if (!polling_shown_) return;
  polling_shown_ = false;
  atomic::store_relaxed(wait_page_->polling.kind, static_cast<uint32_t>(shm::WaitKind::none));
}

}  // namespace hearth::p2p
