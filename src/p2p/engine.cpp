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

WaitPolicy WaitPolicy::from_parameters(bool more_ranks_than_processors, bool on_one_machine) {
  WaitPolicy policy;
  // With more ranks than processors, the awaited rank may need this processor: yield without spinning.
  policy.spin_ns = more_ranks_than_processors ? 0 : param::get_time_ns(param::Id::wait_spin);
  policy.yield_ns = param::get_time_ns(param::Id::wait_yield);
  policy.always_yields = more_ranks_than_processors || !on_one_machine;
  return policy;
}

namespace {

shm::Arena* arena_of(const EngineSetup& setup) {
  return setup.node == nullptr ? nullptr : setup.node->arena();
}
shm::LongTraffic* traffic_of(const EngineSetup& setup) {
  return setup.node == nullptr ? nullptr : &setup.node->block().traffic;
}
shm::WaitRecord* wait_record_of(const EngineSetup& setup) {
  return setup.node == nullptr ? nullptr : &setup.node->block().waiting;
}

}  // namespace

Engine::Engine(const EngineSetup& setup)
    : transport_(*setup.transport),
      errors_(setup.self, setup.fatal, matching_.unexpected()),
      requests_(setup.self, matching_.posted(), errors_),
      processes_(setup.size, setup.size_max, deferred_, buffers_, setup.new_context),
      failures_(processes_.set(), setup.liveness),
      pairs_(
          processes_.set(), setup.relation, transport_, arena_of(setup),
          setup.recorder == nullptr
              ? std::function<void(PeerIndex, const Pair&)>()
              : [this, jobs = setup.size](PeerIndex peer, const Pair& pair) {
                  if (peer >= jobs) return;  // the profile has no row for processes of other jobs
                  profile_.begin(peer, pair);
                  eager_.peer(peer).profiled = true;
                }),
      deferred_(setup.self, setup.size, transport_),
      answers_(processes_.set(), transport_, failures_, errors_),
      profile_(setup.size, setup.recorder, matching_.posted()),
      eager_({transport_, matching_, requests_, pairs_, failures_, deferred_, answers_, errors_, profile_,
              [](void* engine) { static_cast<Engine*>(engine)->progress(); }, this}),
      buffers_(setup.self, processes_.set(), transport_, deferred_, errors_),
      access_(setup.self, processes_.set(), transport_, setup.node, setup.methods, setup.recorder),
      offers_(pairs_, access_, arena_of(setup), setup.recorder, counters_),
      copies_(transport_, requests_, pairs_, access_, arena_of(setup), setup.recorder, counters_),
      sends_(setup.self, {transport_, requests_, pairs_, buffers_, offers_, answers_, deferred_, errors_,
                          setup.recorder, traffic_of(setup), counters_}),
      receives_(setup.self, {transport_, matching_, requests_, pairs_, buffers_, copies_, sends_, answers_,
                             errors_, setup.recorder, traffic_of(setup), counters_}),
      threads_(transport_, setup.backstop_ns),
      wait_publisher_(wait_record_of(setup), requests_.pool(), matching_, setup.check_liveness),
      wait_profile_(setup.recorder, requests_.pool()),
      waiting_(setup.wait, {*this, threads_, wait_publisher_, wait_profile_, counters_}),
      failure_handler_(setup.self, {transport_, matching_, requests_, failures_, answers_, eager_, buffers_,
                                    access_, sends_, receives_, threads_, errors_, [](void* engine) {
                                      static_cast<Engine*>(engine)->poll_transport();
                                    }, this, setup.record_death}),
      probes_(matching_, failures_, waiting_),
      damage_(setup.self, setup.warn) {}

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
  offers_.waited(request.key, bytes, os::now_ns() - since_ns);
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
  bool moved = poll_transport();
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

void Engine::watch_awaited() {
  const MatchEntry* entry = matching_.posted().first();
  for (; entry != nullptr; entry = entry->order.next) {
    if (entry->key.peer >= 0) transport_.watch(entry->key.peer);
  }
}

void Engine::shuffle() {
  transport_.shuffle();
  sends_.shuffle();
  answers_.shuffle();
  eager_.shuffle();
}

void Engine::complete_profile() {
  if (!profile_.active()) return;
  for (PeerIndex peer = 0; peer < profile_.size(); ++peer) profile_.sample(peer, eager_.peer(peer).rings);
}

size_t Engine::pool_bytes() const {
  return requests_.pool().bytes_used() + matching_.pool_bytes() + sends_.pool_bytes() +
         receives_.pool_bytes();
}

}  // namespace hearth::p2p
