#include "p2p/wait_profile.h"

#include <algorithm>

#include "mpi.h"
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

void WaitProfile::read_clock(Waiter& waiter, uint64_t now_ns, bool idle_begins) {
  if (!waiter.profiled) {
    waiter.noted = true;
    waiter.profiled = ProfiledWait();
    waiter.profiled->read_ns = now_ns;
    return;
  }
  ProfiledWait& wait = *waiter.profiled;
  if (!idle_begins) wait.idle_ns += now_ns - wait.read_ns;
  wait.read_ns = now_ns;
  if (wait.idle_ns == 0) return;
  if (!wait.described) describe(waiter, wait);
  if (!wait.site_sought && wait.idle_ns >= kSiteNs) {
    wait.site_sought = true;
    wait.site = recorder_->note_site();
  }
  if (wait.idle_ns >= kCountedNs) count(wait);
}

// Describes a wait once, at its beginning: after its first operation completes it would look like another
// wait.
void WaitProfile::describe(const Waiter& waiter, ProfiledWait& wait) {
  wait.described = true;
  shm::WaitEntry entry = {};
  WaitDiagnostics note(requests_, entry);
  waiter.describe(note);
  const bool uniform = is_uniform(entry);
  wait.kind = kind_of(uniform && entry.kind == static_cast<uint32_t>(shm::WaitKind::request)
                          ? entry.operations[0].kind
                          : entry.kind);
  wait.peer = uniform && entry.operations[0].peer >= 0 ? entry.operations[0].peer : MPI_ANY_SOURCE;
  if (entry.missing_count == 1) wait.peer = entry.missing[0];
}

void WaitProfile::count(ProfiledWait& wait) const {
  recorder_->waited(wait.kind, wait.peer, wait.idle_ns, !wait.counted, wait.site);
  wait.counted = true;
  wait.idle_ns = 0;
}

void WaitProfile::count_last(Waiter& waiter) {
  ProfiledWait& wait = *waiter.profiled;
  if (wait.idle_ns > 0) count(wait);
  if (wait.counted) recorder_->wait_is_over(wait.kind, wait.peer, waiter.began_ns, wait.read_ns);
}

}  // namespace hearth::p2p
