#include "shm/liveness.h"

#include <cstdio>

#include "base/atomic.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "shm/damage.h"

namespace hearth::shm {
namespace {

// That no death has: of a process that is marked.
constexpr uint32_t kNoNumber = ~0u;

}  // namespace

uint32_t Liveness::deaths() const {
  // Pairs with the release in tell(): the numbers of so many deaths are there.
  return DeathCount{atomic::load_acquire(segment_->job().deaths)}.count();
}

uint32_t Liveness::death_of(int rank) const {
  // Pairs with the release in tell(): the cause is there, and so is all that the process had stored.
  return atomic::load_acquire(segment_->rank(rank).dead);
}

void Liveness::describe(int rank, char* text, size_t bytes) const {
  const RankBlock& block = segment_->rank(rank);
  char how[96];
  const int code = atomic::load_relaxed(block.death_code);
  switch (static_cast<DeathCause>(atomic::load_relaxed(block.death_cause))) {
    case DeathCause::signal:
      std::snprintf(how, sizeof how, "was killed by %s", os::signal_name(code).c_str());
      break;
    case DeathCause::out_of_memory:
      std::snprintf(how, sizeof how, "was killed by the kernel: memory ran out");
      break;
    case DeathCause::exit_code:
      std::snprintf(how, sizeof how, "ended with exit code %d", code);
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
  if (atomic::load_relaxed(dead) == 0) atomic::store_release(dead, kNoNumber);
}

// The number of a death is claimed, given to the rank, and counted, by whoever comes first; each step is the
// same whoever takes it, and as often as it is taken. Before it claims, a process has read a word that claims
// nothing, so that all deaths counted until then have their numbers: a rank without one is in none of them.
void Liveness::tell(int rank, DeathCause cause, int code) const {
  RankBlock& block = segment_->rank(rank);
  uint64_t& word = segment_->job().deaths;
  atomic::store_relaxed(block.death_cause, static_cast<uint32_t>(cause));
  atomic::store_relaxed(block.death_code, code);
  for (;;) {
    const DeathCount seen{atomic::load_acquire(word)};
    const int claimed = seen.rank();
    if (claimed >= segment_->rank_count()) {
      damaged("the count of deaths names rank %d of %d", claimed, segment_->rank_count());
    }
    if (claimed >= 0) {
      // Both pair with the loads above.
      atomic::store_release(segment_->rank(claimed).dead, seen.count() + 1);
      atomic::compare_exchange(word, seen.word, seen.next().word);
    } else if (const uint32_t number = atomic::load_acquire(block.dead); number == 0) {
      atomic::compare_exchange(word, seen.word, seen.with(rank).word);
    } else if (number <= seen.count() || number == kNoNumber) {
      break;
    } else if (atomic::load_acquire(word) == seen.word) {
      // Numbered since the word was read, it may not be counted yet; but then the word has changed.
      damaged("rank %d's death has number %u of %u", rank, number, seen.count());
    }
  }
  // Pairs with the fence in Sleeper::prepare: a rank that has not seen the count yet has its word set.
  atomic::fence_full();
  for (int other = 0; other < segment_->rank_count(); ++other) {
    uint32_t& asleep = segment_->rank(other).asleep;
    atomic::store_relaxed(asleep, 0u);
    os::futex_wake(asleep);
  }
}

}  // namespace hearth::shm
