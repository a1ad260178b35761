#include "shm/liveness.h"

#include <cstdio>

#include "base/atomic.h"
#include "base/os_process.h"
#include "base/os_wait.h"

namespace hearth::shm {

uint32_t Liveness::deaths() const {
  // Pairs with the release in tell(): the numbers of so many deaths are there.
  return atomic::load_acquire(segment_->job().dead_ranks);
}

uint32_t Liveness::death_of(int rank) const {
  // Pairs with the release in tell(): the cause is there, and so is all that the process had stored.
  return atomic::load_acquire(segment_->rank(rank).dead);
}

void Liveness::describe(int rank, char* text, size_t bytes) const {
  const RankBlock& block = segment_->rank(rank);
  char how[96];
  switch (static_cast<DeathCause>(block.death_cause)) {
    case DeathCause::signal:
      std::snprintf(how, sizeof how, "was killed by %s", os::signal_name(block.death_code).c_str());
      break;
    case DeathCause::out_of_memory:
      std::snprintf(how, sizeof how, "was killed by the kernel: memory ran out");
      break;
    case DeathCause::exit_code:
      std::snprintf(how, sizeof how, "ended with exit code %d", block.death_code);
      break;
    case DeathCause::no_finalize:
      std::snprintf(how, sizeof how, "ended without MPI_Finalize");
      break;
    default:
      std::snprintf(how, sizeof how, "has ended");
      break;
  }
  std::snprintf(text, bytes, "rank %d of MPI_COMM_WORLD (process %u) %s", rank, block.pid, how);
}

void Liveness::go_on() const {
  atomic::store_release(segment_->job().goes_on, 1u);
}

bool Liveness::goes_on() const {
  return atomic::load_acquire(segment_->job().goes_on) != 0;
}

void Liveness::mark(int rank) const {
  uint32_t& dead = segment_->rank(rank).dead;
  // A number that no death has.
  if (atomic::load_relaxed(dead) == 0) atomic::store_release(dead, ~0u);
}

void Liveness::tell(int rank, DeathCause cause, int code) const {
  RankBlock& block = segment_->rank(rank);
  JobHeader& job = segment_->job();
  const uint32_t number = atomic::load_relaxed(job.dead_ranks) + 1;
  block.death_cause = static_cast<uint32_t>(cause);
  block.death_code = code;
  // Both pair with the loads above. Only the launcher writes them.
  atomic::store_release(block.dead, number);
  atomic::store_release(job.dead_ranks, number);
  // Pairs with the fence in Sleeper::prepare: a rank that has not seen the count yet has its word set.
  atomic::fence_full();
  for (int other = 0; other < segment_->rank_count(); ++other) {
    uint32_t& asleep = segment_->rank(other).asleep;
    atomic::store_relaxed(asleep, 0u);
    os::futex_wake(asleep);
  }
}

}  // namespace hearth::shm
