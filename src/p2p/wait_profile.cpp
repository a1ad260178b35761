// Waits for --profile and --trace. They are measured by the clock readings that a waiting loop
// makes anyway, every kRoundsPerLook rounds, so shorter waits are not recorded. Copies made during a wait do
// not count as waiting.
#include <algorithm>

#include "base/os_wait.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "p2p/wait_diagnostics.h"
#include "profile/recorder.h"

namespace hearth::p2p {

namespace {

// Long waits are added to the profile in steps of this length, so that the profile of a rank which never
// returns shows them.
constexpr uint64_t kCountedNs = 50'000'000;
// Idle time after which the call site is recorded.
constexpr uint64_t kSiteNs = 1'000'000;

profile::Wait kind_of(uint32_t kind) {
  switch (static_cast<shm::WaitKind>(kind)) {
    case shm::WaitKind::send:
      return profile::Wait::late_receiver;
    case shm::WaitKind::receive:
    case shm::WaitKind::probe:
    case shm::WaitKind::call:
      return profile::Wait::late_sender;
    case shm::WaitKind::collective:
      return profile::Wait::collective;
    case shm::WaitKind::finalize:
      return profile::Wait::finalize;
    default:
      return profile::Wait::request;
  }
}

// Whether all awaited operations are of one kind with one process.
bool is_uniform(const shm::WaitEntry& entry) {
  const uint32_t known = std::min<uint32_t>(entry.operation_count, shm::kOperationsMax);
  for (uint32_t i = 1; i < known; ++i) {
    if (entry.operations[i].kind != entry.operations[0].kind ||
        entry.operations[i].peer != entry.operations[0].peer) {
      return false;
    }
  }
  return known > 0;
}

}  // namespace

void Engine::watch_wait(Waiter& waiter, uint64_t now_ns, bool stretch_begins) {
  if (!waiter.watched) {
    waiter.noted = true;
    waiter.watched = WatchedWait();
    waiter.watched->look_ns = now_ns;
    return;
  }
  WatchedWait& watched = *waiter.watched;
  if (!stretch_begins) watched.idle_ns += now_ns - watched.look_ns;
  watched.look_ns = now_ns;
  if (watched.idle_ns == 0) return;
  if (!watched.described) describe_watched(waiter, watched);
  if (!watched.site_sought && watched.idle_ns >= kSiteNs) {
    watched.site_sought = true;
    watched.site = recorder_->note_site();
  }
  if (watched.idle_ns >= kCountedNs) count_wait(watched);
}

// Describes a wait once, at its beginning: after its first operation completes it would look like another
// wait.
void Engine::describe_watched(const Waiter& waiter, WatchedWait& watched) {
  watched.described = true;
  shm::WaitEntry entry = {};
  WaitDiagnostics note(*this, entry);
  waiter.describe(note);
  const bool uniform = is_uniform(entry);
  watched.kind = kind_of(uniform && entry.kind == static_cast<uint32_t>(shm::WaitKind::request)
                             ? entry.operations[0].kind
                             : entry.kind);
  watched.peer = uniform && entry.operations[0].peer >= 0 ? entry.operations[0].peer : MPI_ANY_SOURCE;
  if (entry.missing_count == 1) watched.peer = entry.missing[0];
}

void Engine::count_wait(WatchedWait& watched) const {
  recorder_->waited(watched.kind, watched.peer, watched.idle_ns, !watched.counted, watched.site);
  watched.counted = true;
  watched.idle_ns = 0;
}

void Engine::end_watched_wait(Waiter& waiter) {
  WatchedWait& watched = *waiter.watched;
  if (watched.idle_ns > 0) count_wait(watched);
  if (watched.counted) {
    recorder_->wait_is_over(watched.kind, watched.peer, waiter.began_ns, watched.look_ns);
  }
}

}  // namespace hearth::p2p
