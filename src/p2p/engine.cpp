// The engine's construction, requests, progress and waiting.
#include "p2p/engine.h"

#include <algorithm>
#include <new>

#include "base/check.h"
#include "base/contexts.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "datatype/lifetime.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "p2p/wait_diagnostics.h"
#include "tune/threshold.h"

namespace hearth::p2p {
namespace {

// Polling rounds per clock reading: a reading costs 25 ns, a round 5 to 20.
constexpr uint32_t kRoundsPerLook = 32;
// Calls of progress_once() without progress before it yields the processor.
constexpr uint32_t kFruitlessPerYield = 8;
// Calls of progress_once() without progress per clock reading, after which the wait diagnostics may report
// the program as polling.
constexpr uint32_t kFruitlessPerNote = 64;

}  // namespace

WaitPolicy WaitPolicy::from_parameters(bool more_ranks_than_processors) {
  WaitPolicy policy;
  // With more ranks than processors, the awaited rank may need this processor: yield without spinning.
  policy.spin_ns = more_ranks_than_processors ? 0 : param::get_time_ns(param::Id::wait_spin);
  policy.yield_ns = param::get_time_ns(param::Id::wait_yield);
  return policy;
}

Engine::Engine(const EngineSetup& setup)
    : self_(setup.self),
      transport_(*setup.transport),
      errors_(setup.self, setup.fatal, matching_.unexpected()),
      requests_(setup.self, matching_.posted(), errors_),
      failures_(setup.size, setup.liveness),
      pairs_(
          setup.size, setup.relation, transport_, setup.arena,
          setup.recorder == nullptr
              ? std::function<void(PeerIndex, const Pair&)>()
              : [this](PeerIndex peer, const Pair& pair) {
                  profile_.begin(peer, pair);
                  eager_.peer(peer).profiled = true;
                }),
      deferred_(setup.self, setup.size, transport_),
      answers_(setup.size, transport_, failures_, errors_),
      profile_(setup.size, setup.recorder, matching_.posted()),
      eager_({transport_, matching_, requests_, pairs_, failures_, deferred_, answers_, errors_, profile_,
              [](void* engine) { static_cast<Engine*>(engine)->progress(); }, this}),
      buffers_(setup.self, setup.size, transport_, deferred_, errors_),
      access_(setup.self, setup.size, transport_, setup.control_block, setup.places, setup.methods,
              setup.recorder),
      offers_(pairs_, access_, setup.arena, setup.recorder, counters_),
      copies_(transport_, requests_, pairs_, access_, setup.arena, setup.recorder, counters_),
      sends_(setup.self, {transport_, requests_, pairs_, buffers_, offers_, answers_, deferred_, errors_,
                          setup.recorder, setup.traffic, counters_}),
      receives_(setup.self, {transport_, matching_, requests_, pairs_, buffers_, copies_, sends_, answers_,
                             errors_, setup.recorder, setup.traffic, counters_}),
      wait_policy_(setup.wait),
      new_context_(setup.new_context),
      wait_page_(setup.wait_page),
      check_liveness_(setup.check_liveness),
      record_death_(setup.record_death),
      recorder_(setup.recorder),
      warn_(setup.warn),
      backstop_ns_(setup.backstop_ns) {}

Engine::~Engine() = default;

void Engine::reload_thresholds() {
  offers_.reload();
  pairs_.reload();
  eager_.reload();
}

// Requests.

void Engine::finish(Request& request, Status outcome) {
  requests_.complete(request, outcome);
  wake_threads();
}

void Engine::await_incomplete(const Request& request) {
  await_incomplete(request, [&request](WaitDiagnostics& note) { note.request(request); });
}

// A wait for a zero-copy send shows whether its receiver lags (skew.h).
void Engine::await_incomplete(const Request& request, const Describe& describe) {
  const auto complete = [&request] { return request.complete; };
  if (request.kind != RequestKind::send || request.send_stream == nullptr ||
      request.send_stream->offered == 0) {
    return wait_until(complete, describe);
  }
  const auto bytes = static_cast<uint64_t>(request.send_stream->total_bytes);
  const uint64_t since_ns = os::now_ns();
  wait_until(complete, describe);
  offers_.waited(request.key.peer, bytes, os::now_ns() - since_ns);
}

Status Engine::wait(Request*& request) {
  Request* waited = request;
  await(*waited);
  const Status outcome = waited->outcome;
  requests_.destroy(waited);
  request = nullptr;
  return outcome;
}

Status Engine::wait_all(std::span<Request*> requests) {
  Status first;
  for (Request*& request : requests) {
    if (request == nullptr) continue;
    const Status outcome = wait(request);
    if (first.ok() && !outcome.ok()) first = outcome;
  }
  return first;
}

// Progress and waiting.

bool Engine::progress() try {
  bool moved = transport_.poll(&Engine::handle, this) > 0;
  if (__builtin_expect(sends_.any_sending(), 0)) moved |= sends_.push_all();
  if (__builtin_expect(!answers_.empty(), 0)) moved |= answers_.serve();
  if (__builtin_expect(eager_.any_backlog(), 0)) moved |= serve_backlogs();
  moved |= requests_.advance();
  // Sleeping threads of this process may have waited for this progress.
  if (__builtin_expect(LibraryLock::enabled, 0) && moved) wake_threads();
  return moved;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the transport's progress");
}

void Engine::shuffle() {
  transport_.shuffle();
  sends_.shuffle();
  answers_.shuffle();
  eager_.shuffle();
}

bool Engine::progress_once() try {
  if (progress()) {
    fruitless_ = 0;
    if (__builtin_expect(polling_since_ns_ != 0, 0)) end_polling();
    return true;
  }
  if (deferred_.any()) deferred_.run();
  ++fruitless_;
  if (poll_failures()) return true;
  chaos::at(chaos::Point::waiting);
  if (chaos::draw(8) == 1) shuffle();
  // Otherwise a program that polls in a loop would keep the awaited rank from running.
  if (wait_policy_.spin_ns == 0 && fruitless_ % kFruitlessPerYield == 0) os::yield_processor();
  if (__builtin_expect(fruitless_ % kFruitlessPerNote == 0, 0)) note_polling();
  return false;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("wait diagnostics");
}

void Engine::complete_profile() {
  if (!profile_.active()) return;
  for (PeerIndex peer = 0; peer < size(); ++peer) profile_.sample(peer, eager_.peer(peer).rings);
}

size_t Engine::pool_bytes() const {
  return requests_.pool().bytes_used() + matching_.pool_bytes() + sends_.pool_bytes() +
         receives_.pool_bytes();
}

bool Engine::idle(Waiter& waiter) try {
  if (deferred_.any()) deferred_.run();
  LibraryLock::yield_lock();
  // The first clock reading comes after some rounds, because it would delay a message that is just arriving.
  const uint32_t rounds_per_look = wait_policy_.spin_ns != 0 ? kRoundsPerLook : 1;
  if (++waiter.rounds % rounds_per_look != 0) {
    atomic::cpu_relax();
    return false;
  }
  chaos::at(chaos::Point::waiting);
  if (chaos::draw(8) == 1) shuffle();
  const uint64_t now = os::now_ns();
  const bool first_look = waiter.rounds == rounds_per_look;
  if (first_look) waiter.since_ns = now;
  if (waiter.began_ns == 0) waiter.began_ns = now;
  if (recorder_ != nullptr) watch_wait(waiter, now, first_look);
  if (poll_failures()) return false;
  const uint64_t waited = now - waiter.since_ns;
  if (waited < wait_policy_.spin_ns) return false;
  if (waited < wait_policy_.spin_ns + wait_policy_.yield_ns) {
    // Releases the lock while this thread is off the processor.
    const uint32_t depth = LibraryLock::release_all();
    os::yield_processor();
    LibraryLock::acquire_all(depth);
    if (recorder_ != nullptr) watch_wait(waiter, os::now_ns(), false);
    return false;
  }
  if (wait_page_ != nullptr) show_wait(waiter, now);
  if (check_liveness_ != nullptr) check_liveness_();
  return true;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("wait diagnostics");
}

// Of several sleeping threads one is the leader: it sleeps on the rank's wake-up word and handles all
// incoming packets. The followers sleep on futexes of their own. So a message wakes the leader and the thread
// that it completes, however many threads sleep.
void Engine::sleep_as_waiter(Waiter& waiter) try {
  if (requests_.has_hooked()) {
    // A hooked operation (a generalized request) may end without a packet, so sleep only briefly.
    const uint32_t depth = LibraryLock::release_all();
    os::sleep_ns(wait_policy_.yield_ns);
    LibraryLock::acquire_all(depth);
    return;
  }
  waiter.noted = true;
  if (leader_ == nullptr) {
    lead(waiter);
  } else {
    follow(waiter);
  }
  if (recorder_ != nullptr) watch_wait(waiter, os::now_ns(), false);
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the list of sleeping threads");
}

void Engine::lead(Waiter& waiter) {
  const uint64_t sleep_ns = std::min(backstop_ns_, transport_.prepare_sleep());
  // Last poll, after the fence in prepare_sleep(): it sees every store made before the fence, and the process
  // that makes a later store sees that this rank sleeps (shm/wait.h). A store may end a wait without a
  // packet, such as the release of a window's lock, which progress() does not report. So the conditions of
  // all sleeping threads are evaluated.
  if (progress() || poll_failures() || waiter.over()) {
    transport_.end_sleep(false);
    return;
  }
  wake_threads();
  chaos::at(chaos::Point::asleep);
  // About every quarter of a second with the router's short sleeps.
  if (++counters_.sleeps % kSleepsPerWatch == 0) watch_awaited();
  leader_ = &waiter;
  const uint32_t depth = LibraryLock::release_all();
  transport_.sleep(sleep_ns);
  LibraryLock::acquire_all(depth);
  leader_ = nullptr;
  transport_.end_sleep(true);
  // The wake-up word is shared by all threads of the rank, so the event may concern a follower. Without this
  // call the next last poll would wake it, but only after this thread has polled and yielded.
  wake_threads();
}

void Engine::follow(Waiter& waiter) {
  ++counters_.sleeps;
  waiter.asleep = 1;
  followers_.push_back(&waiter);
  const uint32_t depth = LibraryLock::release_all();
  os::futex_wait(waiter.asleep, 1, backstop_ns_);
  LibraryLock::acquire_all(depth);
  followers_.erase(std::find(followers_.begin(), followers_.end(), &waiter));
}

// The waiter's futex stays valid: its thread needs the library's lock to end the wait.
void Engine::wake_follower(Waiter& waiter) {
  if (atomic::load_relaxed(waiter.asleep) == 0) return;
  atomic::store_relaxed(waiter.asleep, 0u);
  os::futex_wake(waiter.asleep);
}

void Engine::wake_threads() {
  if (leader_ != nullptr && leader_->over()) transport_.wake_own();
  // over() may call this function again, but only a sleeping thread adds or removes its own entry.
  for (Waiter* follower : followers_) {
    if (follower->over()) wake_follower(*follower);
  }
}

// Wakes a follower if no leader is left; the follower becomes the leader.
void Engine::end_wait(Waiter& waiter) {
  if (waiter.shown_at != kNotShown) hide_wait(waiter);
  if (waiter.watched) end_watched_wait(waiter);
  if (leader_ == nullptr && !followers_.empty()) wake_follower(*followers_.back());
}

}  // namespace hearth::p2p
