// Reports which rank waits for which: with --why, at the time limit, on the quit signal, and by default for
// ranks that wait for ranks that have ended.
#include <algorithm>

#include "base/atomic.h"
#include "base/os_wait.h"
#include "launch/job.h"

namespace hearth::launch {
namespace {

// Interval of the checks for a standstill; a check costs a few loads per rank.
constexpr uint64_t kLookNs = 200'000'000;
// The interval without --why, where only waits for ended ranks are reported.
constexpr uint64_t kUnaskedLookNs = 1'000'000'000;
// Least time from a full examination without a deadlock to the next one, because an examination takes a fifth
// of a second.
constexpr uint64_t kAgainNs = 500'000'000;

uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29);
}

}  // namespace

Status check_why_is_built() {
  return {};
}

void Job::say_why() {
  if (running_ == 0 || !some_rank_used_mpi()) return;
  tell_observer();
  for (const std::string& line : explain(observer_.sample_twice(true)).lines) say(line);
}

// Reports each wait of at least why_ns_ once. With --why, also reports waits for computing ranks if nothing
// has moved for that time. Without --why, reports only waits that cannot end because the awaited ranks have
// ended; it then ends the job unless --keep-waiting is given.
void Job::look_for_standstill() {
  const uint64_t now = os::now_ns();
  why_at_ = now + std::min(why_asked_ ? kLookNs : kUnaskedLookNs, why_ns_);
  if (!why_asked_ && !some_rank_has_left()) return;
  if (!has_news_of_standstill(now)) return;
  tell_observer();
  const Explanation why = explain(observer_.sample_twice(false));
  const bool stuck = why_asked_ ? why.verdict > Verdict::waiting : why.verdict == Verdict::in_vain;
  const bool still =
      why_asked_ && why.verdict == Verdict::waiting && now >= still_since_ns_ + why_ns_ && !still_told_;
  not_before_ns_ = os::now_ns() + std::max(why_ns_, kAgainNs);
  if (!stuck && !still) return;
  still_told_ = true;
  for (const std::string& line : why.lines) say(line);
  if (!stuck) return;
  // A polling program may still do anything: a suspicion is no finding, and no reason to end the job.
  const bool proven = why.verdict != Verdict::suspected;
  if (proven) {
    std::string all;
    for (const std::string& line : why.lines) all += (all.empty() ? "" : "\n") + line;
    check_.note_deadlock(all);
  }
  if (!why_asked_) {
    say(spec_.keep_waiting ? "the job goes on (--keep-waiting)"
                           : "ending " + running_words("rank") + "; --keep-waiting lets them wait");
  }
  if ((proven && check_.fatal()) || (!why_asked_ && !spec_.keep_waiting)) end_job(1, true);
  for (uint32_t index = 0; index < rank_count(); ++index) {
    const SeenRank& rank = observer_.latest().ranks[index];
    for (const SeenWait& wait : rank.waits) {
      waits_told_[index] = std::max(waits_told_[index], wait.since_ns);
    }
    if (rank.polling) waits_told_[index] = std::max(waits_told_[index], rank.polling->since_ns);
  }
}

// Whether a rank has ended or called MPI_Finalize while the job continues.
bool Job::some_rank_has_left() const {
  for (uint32_t index = 0; index < rank_count(); ++index) {
    const auto phase = atomic::load_relaxed(segment_.rank(static_cast<int>(index)).phase);
    if (ranks_[index].ended || static_cast<shm::RankPhase>(phase) == shm::RankPhase::finalized) return true;
  }
  return false;
}

bool Job::has_news_of_standstill(uint64_t now_ns) {
  bool news = false;
  bool waits = false;
  uint64_t moves = 0;
  for (uint32_t index = 0; index < rank_count(); ++index) {
    const shm::RankBlock& block = segment_.rank(static_cast<int>(index));
    moves = mix(moves, atomic::load_relaxed(block.phase));
    const auto look_at = [&](const shm::WaitEntry& wait) {
      if (atomic::load_relaxed(wait.kind) == 0) return;
      const uint64_t since = atomic::load_relaxed(wait.since_ns);
      moves = mix(moves, since + index);
      if (now_ns < since + why_ns_) return;
      waits = true;
      if (since > waits_told_[index]) news = true;
    };
    for (const shm::WaitEntry& wait : block.waiting.waits) look_at(wait);
    look_at(block.waiting.polling);
  }
  if (moves != moves_seen_) {
    moves_seen_ = moves;
    still_since_ns_ = now_ns;
    still_told_ = false;
  }
  const bool still = why_asked_ && waits && !still_told_ && now_ns >= still_since_ns_ + why_ns_;
  return still || (news && now_ns >= not_before_ns_);
}

}  // namespace hearth::launch
