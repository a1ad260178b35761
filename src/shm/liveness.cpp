#include "shm/liveness.h"

#include <cstdio>

#include "base/atomic.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "shm/corruption.h"

namespace hearth::shm {
namespace {

// `dead` of a process marked by mark(): not the number of any death.
constexpr uint32_t kNoNumber = ~0u;

}  // namespace

uint32_t Liveness::deaths() const {
  // Pairs with the release in publish(): the numbers of that many deaths are stored.
  return DeathCount{atomic::load_acquire(segment_->job().deaths)}.count();
}

uint32_t Liveness::death_of(int rank) const {
  // Pairs with the release in publish(): the cause is stored, as is everything that the process had stored.
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

// Counting a death takes three steps: claim the next number for the rank, store the number in the rank's
// block, increment the count. Any process may take a step, and repeating one changes nothing. A process
// claims a number only if the word that it read contains no claim: then all deaths counted so far have their
// numbers, so a rank without a number is not among them.
void Liveness::publish(int rank, DeathCause cause, int code) const {
  RankBlock& block = segment_->rank(rank);
  uint64_t& word = segment_->job().deaths;
  atomic::store_relaxed(block.death_cause, static_cast<uint32_t>(cause));
  atomic::store_relaxed(block.death_code, code);
  for (;;) {
    const DeathCount seen{atomic::load_acquire(word)};
    const int claimed = seen.rank();
    if (claimed >= segment_->rank_count()) {
      report_corruption("the count of deaths names rank %d of %d", claimed, segment_->rank_count());
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
      // A number stored after the word was read may not be counted yet, but then the word has changed.
      report_corruption("rank %d's death has number %u of %u", rank, number, seen.count());
    }
  }
  // Pairs with the fence in Sleeper::prepare: a rank that has not seen the new count has set `asleep`.
  atomic::fence_full();
  for (int other = 0; other < segment_->rank_count(); ++other) {
    uint32_t& asleep = segment_->rank(other).asleep;
    atomic::store_relaxed(asleep, 0u);
    os::futex_wake(asleep);
  }
}

}  // namespace hearth::shm
