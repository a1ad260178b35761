// Deaths that the other ranks may survive: ranks whose calls return errors are notified at once, and have a
// grace period in which they can report that they continue.
#include <algorithm>
#include <chrono>
#include <future>
#include <system_error>

#include "base/atomic.h"
#include "base/os_machine.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "launch/job.h"
#include "launch/why_words.h"

namespace hearth::launch {
namespace {

// In larger jobs the copy of all ranks' state would delay the notification too long.
constexpr uint32_t kKeptRanksMax = 256;
// Interval of the checks whether the report about the ranks is ready.
constexpr uint64_t kWordsNs = 5'000'000;
constexpr size_t kLinesMax = 16;

// Runs in a thread of its own. Takes the observer by value: freeing the symbol tables that it has read takes
// milliseconds, which would otherwise delay the thread that asks for the result.
std::vector<std::string> what_they_did(std::unique_ptr<Observer> observer, uint32_t died) {
  // The ranks that are being notified need the processors.
  os::lower_priority();
  observer->sample();
  const Snapshot& seen = observer->latest();
  std::vector<std::string> lines;
  size_t left_out = 0;
  for (uint32_t index = 0; index < seen.ranks.size(); ++index) {
    const SeenRank& rank = seen.ranks[index];
    if (rank.process.ended || (index == died && rank.waits.empty())) continue;
    if (lines.size() == kLinesMax) {
      ++left_out;
      continue;
    }
    lines.push_back("  rank " + std::to_string(index) + (index == died ? ", which died, " : " ") +
                    rank_state_words(rank, seen.now_ns));
  }
  if (!lines.empty()) lines.insert(lines.begin(), "when rank " + std::to_string(died) + " died:");
  if (left_out > 0) lines.push_back("  and " + std::to_string(left_out) + " more");
  return lines;
}

}  // namespace

// Without --survive the job ends if one rank does not handle errors, or if one has not called MPI_Init yet:
// such a rank may wait for the dead one outside MPI.
bool Job::others_return_errors() const {
  if (quiet_ || atomic::load_acquire(segment_.job().abort_written) != 0) return false;
  // True even if all other ranks have ended before: the order of their ends is a race.
  if (spec_.survive || go_on_) return true;
  bool some_in_mpi = false;
  for (uint32_t index = 0; index < rank_count(); ++index) {
    if (ranks_[index].ended) continue;
    const shm::RankBlock& block = segment_.rank(static_cast<int>(index));
    const auto phase = static_cast<shm::RankPhase>(atomic::load_acquire(block.phase));
    if (phase == shm::RankPhase::finalized) continue;
    if (phase == shm::RankPhase::outside || atomic::load_relaxed(block.returns_errors) == 0) return false;
    some_in_mpi = true;
  }
  return some_in_mpi;
}

// Whether the OOM killer has probably killed this rank: it died of SIGKILL, and the kernel's count of such
// kills has risen since the last call.
bool Job::memory_ran_out(const Rank& rank) {
  if (!rank.end.by_signal || rank.end.code != SIGKILL) return false;
  const long long kills = os::out_of_memory_kills();
  const bool more = kills > memory_kills_before_;
  memory_kills_before_ = std::max(memory_kills_before_, kills);
  return more;
}

// Publishes the death. Every wait loop of a rank polls the count of deaths; sleeping ranks are woken.
void Job::die_among_survivors(uint32_t index) {
  Rank& rank = ranks_[index];
  rank.out_of_memory = memory_ran_out(rank);
  auto seen = words_.valid() || rank_count() > kKeptRanksMax ? nullptr : std::make_unique<Observer>(segment_);
  if (seen != nullptr) {
    for (uint32_t other = 0; other < rank_count(); ++other) {
      seen->set_process(static_cast<int>(other), ranks_[other].pid, ranks_[other].ended && other != index);
    }
    seen->keep();
  }
  liveness_.publish(static_cast<int>(index), death_cause_of(rank.cause, rank.out_of_memory), rank.end.code);
  if (seen == nullptr) return;
  try {
    words_ = std::async(std::launch::async, what_they_did, std::move(seen), index);
    words_at_ = os::now_ns() + kWordsNs;
  } catch (const std::system_error&) {
    // Without another thread, the state of the ranks is not reported.
  }
}

void Job::say_death(uint32_t index) {
  const Rank& rank = ranks_[index];
  const bool first = death_code_ == 0;
  if (first) {
    death_code_ = exit_code_of(rank.end);
    if (!spec_.survive) grace_ends_at_ = os::now_ns() + param::get_time_ns(param::Id::launch_grace);
  }
  // Ranks that end because of the first death report that themselves.
  if (!first && !go_on_ && rank.cause != Cause::signal) return;
  const std::string told = running_words("other rank") + (running_ == 1 ? " is told" : " are told");
  say(rank_words(index) + " " + describe_end(rank.end, rank.cause, rank.out_of_memory) +
      (running_ == 0 ? "" : "; " + told));
}

void Job::say_what_they_did(bool wait) {
  words_at_ = 0;
  if (!words_.valid()) return;
  if (!wait && words_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    words_at_ = os::now_ns() + kWordsNs;
    return;
  }
  for (const std::string& line : words_.get()) say(line);
}

void Job::look_for_survivors() {
  grace_ends_at_ = 0;
  if (running_ == 0 || ending_) return;
  go_on_ = liveness_.goes_on();
  if (go_on_) return;
  say("no rank goes on in spite of it (by MPIX_Comm_shrink and its kin, or with mpiexec --survive): ending " +
      running_words("rank"));
  end_job(death_code_, true);
}

// If ranks continued after a death, their own ends determine the exit code.
int Job::code_of_survivors() const {
  bool some_finished = false;
  for (const Rank& rank : ranks_) {
    if (!rank.finalized) continue;
    if (rank.cause != Cause::none) return exit_code_of(rank.end);
    some_finished = true;
  }
  return some_finished && (spec_.survive || liveness_.goes_on()) ? 0 : death_code_;
}

}  // namespace hearth::launch
