#include "launch/why.h"

#include <algorithm>
#include <set>

#include "base/contexts.h"
#include "launch/why/why_hints.h"
#include "launch/why_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr size_t kRankLines = 16;

/// Which ranks are assumed to be able to proceed.
struct Assumptions {
  bool pollers_act = true;
  bool ended_act = false;
};

class Analysis {
 public:
  explicit Analysis(const Snapshot& snapshot) : snapshot_(snapshot) {}

  size_t size() const { return snapshot_.ranks.size(); }
  const SeenRank& rank(int index) const { return snapshot_.ranks[static_cast<size_t>(index)]; }
  /// False for a process of another job, which has no rank here.
  bool has_ended(int index) const {
    if (index < 0 || static_cast<size_t>(index) >= size()) return false;
    return rank(index).process.ended || rank(index).phase == shm::RankPhase::finalized;
  }

  bool lasts(const SeenWait& wait) const { return snapshot_.now_ns >= wait.since_ns + kLastingNs; }
  bool waits(int index) const {
    const SeenRank& seen = rank(index);
    return !has_ended(index) && !seen.waits.empty() &&
           std::all_of(seen.waits.begin(), seen.waits.end(), [this](const SeenWait& w) { return lasts(w); });
  }
  bool polls_for_long(int index) const {
    const SeenRank& seen = rank(index);
    return !has_ended(index) && seen.waits.empty() && polls(seen, snapshot_.now_ns) && lasts(*seen.polling);
  }

  /// Whether the rank has not polled since the first of two samples, when all others were waiting already.
  /// Such a rank may still find its message: it lacks a processor, or a long transfer is in progress.
  bool may_have_news(const SeenRank& seen) const {
    return !std::all_of(seen.waits.begin(), seen.waits.end(),
                        [this](const SeenWait& wait) { return has_polled(wait, snapshot_.before_ns); });
  }

  /// The ranks that can complete an operation; each of them suffices.
  std::vector<int> sources(int self, const SeenOperation& operation) const {
    if (operation.peer >= 0) return {operation.peer};
    std::vector<int> ranks;
    if (operation.peer != MPI_ANY_SOURCE) return ranks;
    const uint32_t block = operation.context / kContextsEach * kContextsEach;
    const bool all_fit = size() <= static_cast<size_t>(shm::kMemberWords) * 64;
    for (const SeenComm& comm : rank(self).comms) {
      if (comm.context != block || comm.members.empty() || !all_fit) continue;
      std::copy_if(comm.members.begin(), comm.members.end(), std::back_inserter(ranks),
                   [self](int member) { return member != self; });
      return ranks;
    }
    for (int other = 0; other < static_cast<int>(size()); ++other) {
      if (other != self) ranks.push_back(other);
    }
    return ranks;
  }

  /// All ranks that a wait may be waiting for.
  std::vector<int> needs(int self, const SeenWait& wait) const {
    std::set<int> ranks(wait.missing.begin(), wait.missing.end());
    for (const SeenOperation& operation : wait.operations) {
      // A lock's wait needs its holders, which `missing` lists, not the target.
      if (operation.kind == shm::WaitKind::lock) continue;
      const std::vector<int> from = sources(self, operation);
      ranks.insert(from.begin(), from.end());
    }
    return {ranks.begin(), ranks.end()};
  }

  std::vector<const SeenWait*> waits_of(int index) const {
    std::vector<const SeenWait*> all;
    for (const SeenWait& wait : rank(index).waits) all.push_back(&wait);
    if (all.empty() && rank(index).polling) all.push_back(&*rank(index).polling);
    return all;
  }

  /// The ranks whose waits cannot end under these assumptions.
  std::vector<bool> stuck(const Assumptions& assumptions) const {
    std::vector<bool> acts(size());
    for (size_t i = 0; i < size(); ++i) {
      const int index = static_cast<int>(i);
      if (has_ended(index)) {
        // Ranks that have just ended may have sent messages that the others have not polled yet.
        acts[i] = assumptions.ended_act || !rank(index).settled;
      } else if (waits(index)) {
        acts[i] =
            may_have_news(rank(index)) || rank(index).waits_left_out > 0 || other_threads_act(rank(index));
      } else {
        acts[i] = !polls_for_long(index) || assumptions.pollers_act;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < size(); ++i) {
        const int index = static_cast<int>(i);
        if (acts[i] || has_ended(index)) continue;
        const std::vector<const SeenWait*> all = waits_of(index);
        if (std::none_of(all.begin(), all.end(),
                         [&](const SeenWait* wait) { return can_end(index, *wait, acts); })) {
          continue;
        }
        acts[i] = changed = true;
      }
    }
    std::vector<bool> result(size());
    for (size_t i = 0; i < size(); ++i) result[i] = !acts[i] && !has_ended(static_cast<int>(i));
    return result;
  }

 private:
  /// Whether a thread that is in no MPI wait may still call MPI: it runs, or it sleeps with a time limit or
  /// for a file.
  static bool other_threads_act(const SeenRank& seen) {
    constexpr double kWorks = 0.05;
    const auto waiting = static_cast<int>(seen.waits.size());
    if (!seen.threads_multiple || seen.process.threads <= waiting) return false;
    return seen.process.acting_threads > 0 || seen.process.processors > kWorks;
  }

  static bool acts_in(const std::vector<bool>& acts, int index) {
    return index < 0 || static_cast<size_t>(index) >= acts.size() || acts[static_cast<size_t>(index)];
  }

  bool can_end(int self, const SeenWait& wait, const std::vector<bool>& acts) const {
    const auto missing_act = [&] {
      return std::all_of(wait.missing.begin(), wait.missing.end(),
                         [&](int missing) { return acts_in(acts, missing); });
    };
    const auto ends = [&](const SeenOperation& operation) {
      // All holders of a lock have to release it. An unknown holder may do so at any time.
      if (operation.kind == shm::WaitKind::collective || operation.kind == shm::WaitKind::lock) {
        return missing_act();
      }
      // A rank that waits in MPI makes progress.
      if (operation.kind == shm::WaitKind::progress && !has_ended(operation.peer)) return true;
      // A generalized request, or an operation that no message completes.
      if (operation.peer < 0 && operation.peer != MPI_ANY_SOURCE) return true;
      const std::vector<int> from = sources(self, operation);
      return std::any_of(from.begin(), from.end(), [&](int source) { return acts_in(acts, source); });
    };
    if (wait.operations.empty()) return true;
    if (!wait.any_suffices) return std::all_of(wait.operations.begin(), wait.operations.end(), ends);
    return wait.operation_count > wait.operations.size() ||
           std::any_of(wait.operations.begin(), wait.operations.end(), ends);
  }

  const Snapshot& snapshot_;
};

std::vector<int> numbers(const std::vector<bool>& set) {
  std::vector<int> ranks;
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i]) ranks.push_back(static_cast<int>(i));
  }
  return ranks;
}

/// Pre: every rank in the set waits for another one in it. Follows the first such rank until one repeats.
std::vector<std::vector<int>> find_cycles(const Analysis& analysis, const std::vector<bool>& set) {
  std::vector<std::vector<int>> cycles;
  std::vector<int> walked_in(set.size(), -1);  // start rank of the walk that visited it
  for (size_t start = 0; start < set.size(); ++start) {
    std::vector<int> path;
    int at = set[start] ? static_cast<int>(start) : -1;
    while (at >= 0 && walked_in[static_cast<size_t>(at)] < 0) {
      walked_in[static_cast<size_t>(at)] = static_cast<int>(start);
      path.push_back(at);
      int next = -1;
      for (const SeenWait* wait : analysis.waits_of(at)) {
        for (const int needed : analysis.needs(at, *wait)) {
          const bool inside = static_cast<size_t>(needed) < set.size() && set[static_cast<size_t>(needed)];
          if (inside && next < 0) next = needed;
        }
      }
      at = next;
    }
    if (at < 0 || walked_in[static_cast<size_t>(at)] != static_cast<int>(start)) continue;
    const auto first = std::find(path.begin(), path.end(), at);
    if (first != path.end()) cycles.emplace_back(first, path.end());
  }
  return cycles;
}

std::string cycle_words(const std::vector<int>& cycle) {
  constexpr size_t kShown = 12;
  if (cycle.size() == 1) return "  rank " + std::to_string(cycle[0]) + " waits for itself";
  std::string text = "  the cycle: rank ";
  for (size_t i = 0; i < cycle.size(); ++i) {
    if (i == kShown) {
      text += "(" + std::to_string(cycle.size() - i) + " more) -> ";
      break;
    }
    text += std::to_string(cycle[i]) + " -> ";
  }
  return text + std::to_string(cycle[0]);
}

std::string verb(const std::vector<int>& ranks, const char* one, const char* several) {
  return ranks_words(ranks) + " " + (ranks.size() == 1 ? one : several);
}

/// The ranks that do not wait but are waited for.
std::vector<int> awaited_actors(const Analysis& analysis, const std::vector<int>& waiters) {
  std::set<int> actors;
  for (const int waiter : waiters) {
    for (const SeenWait* wait : analysis.waits_of(waiter)) {
      for (const int needed : analysis.needs(waiter, *wait)) {
        if (static_cast<size_t>(needed) < analysis.size() && !analysis.waits(needed)) actors.insert(needed);
      }
    }
  }
  return {actors.begin(), actors.end()};
}

/// The PIDs of processes of other jobs that ranks wait for.
std::set<int> awaited_elsewhere(const Analysis& analysis, const std::vector<int>& waiters) {
  std::set<int> pids;
  for (const int waiter : waiters) {
    for (const SeenWait* wait : analysis.waits_of(waiter)) {
      for (const int needed : analysis.needs(waiter, *wait)) {
        for (const SeenForeign& foreign : analysis.rank(waiter).foreign) {
          if (foreign.peer == needed) pids.insert(foreign.pid);
        }
      }
    }
  }
  return pids;
}

/// All ranks, in order of relevance, because there may be thousands.
std::vector<int> by_weight(const Analysis& analysis, const Explanation& why,
                           const std::vector<int>& waiters) {
  std::vector<int> order;
  std::vector<bool> listed(analysis.size());
  const auto list = [&](int index) {
    if (!listed[static_cast<size_t>(index)]) order.push_back(index);
    listed[static_cast<size_t>(index)] = true;
  };
  for (const std::vector<int>& cycle : why.cycles) std::for_each(cycle.begin(), cycle.end(), list);
  const std::vector<int> actors = awaited_actors(analysis, waiters);
  std::for_each(actors.begin(), actors.end(), list);
  const size_t heavy = std::min(order.size(), kRankLines);
  for (size_t i = 0; i < analysis.size(); ++i) list(static_cast<int>(i));
  // A short list is easier to read in rank order.
  const bool few = order.size() <= kRankLines;
  std::sort(order.begin(), few ? order.end() : order.begin() + static_cast<std::ptrdiff_t>(heavy));
  return order;
}

// Ranks in the same state share a line.
void add_rank_lines(const Analysis& analysis, const Snapshot& snapshot, const std::vector<int>& ranks,
                    std::vector<std::string>& lines) {
  struct Group {
    std::string words;  // without the time
    std::vector<int> ranks;
    std::string first;
  };
  std::vector<Group> groups;
  for (const int index : ranks) {
    const SeenRank& rank = analysis.rank(index);
    const std::string words = rank_state_words(rank, 0);
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&words](const Group& group) { return group.words == words; });
    if (same != groups.end()) {
      same->ranks.push_back(index);
    } else {
      groups.push_back({words, {index}, rank_state_words(rank, snapshot.now_ns)});
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i == kRankLines) {
      lines.push_back("  and others, doing " + std::to_string(groups.size() - i) + " more things");
      return;
    }
    const Group& group = groups[i];
    lines.push_back("  " + ranks_words(group.ranks) + (group.ranks.size() > 1 ? ", each: " : " ") +
                    group.first);
  }
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::quiet:
      return "quiet";
    case Verdict::waiting:
      return "waiting";
    case Verdict::suspected:
      return "suspected";
    case Verdict::in_vain:
      return "in vain";
    case Verdict::deadlock:
      return "deadlock";
  }
  return "";
}

Explanation explain(const Snapshot& snapshot) {
  const Analysis analysis(snapshot);
  Explanation result;
  std::vector<int> waiters;
  for (int index = 0; index < static_cast<int>(analysis.size()); ++index) {
    if (analysis.waits(index)) waiters.push_back(index);
  }

  const std::vector<bool> knot = analysis.stuck({.pollers_act = true, .ended_act = true});
  const std::vector<bool> stuck = analysis.stuck({});
  const std::vector<bool> perhaps_knot = analysis.stuck({.pollers_act = false, .ended_act = true});
  const std::vector<bool> perhaps = analysis.stuck({.pollers_act = false});
  std::set<int> elsewhere;
  std::vector<std::string>& lines = result.lines;
  if (result.stuck = numbers(knot); !result.stuck.empty()) {
    result.verdict = Verdict::deadlock;
    result.cycles = find_cycles(analysis, knot);
    lines.push_back("deadlock: " +
                    (result.stuck.size() == 1
                         ? ranks_words(result.stuck) + " waits for what can never come"
                         : ranks_words(result.stuck) + " wait for each other, and nothing can end it"));
  } else if (result.stuck = numbers(stuck); !result.stuck.empty()) {
    result.verdict = Verdict::in_vain;
    std::vector<int> gone;
    for (const int actor : awaited_actors(analysis, result.stuck)) {
      if (analysis.has_ended(actor)) gone.push_back(actor);
    }
    lines.push_back(verb(result.stuck, "waits", "wait") + " in vain: " +
                    verb(gone, "has ended or called MPI_Finalize", "have ended or called MPI_Finalize"));
  } else if (result.stuck = numbers(perhaps); !result.stuck.empty()) {
    result.verdict = Verdict::suspected;
    result.cycles = find_cycles(analysis, perhaps_knot);
    lines.push_back("suspected deadlock: " + ranks_words(result.stuck) +
                    " wait for each other, unless one that polls does something else next");
  } else if (!waiters.empty()) {
    result.verdict = Verdict::waiting;
    const std::vector<int> actors = awaited_actors(analysis, waiters);
    const bool news = std::any_of(waiters.begin(), waiters.end(),
                                  [&](int waiter) { return analysis.may_have_news(analysis.rank(waiter)); });
    const bool unknown = std::any_of(waiters.begin(), waiters.end(), [&](int waiter) {
      return std::ranges::any_of(analysis.rank(waiter).waits, [](const SeenWait& wait) {
        return wait.kind == shm::WaitKind::lock && wait.missing.empty();
      });
    });
    elsewhere = awaited_elsewhere(analysis, waiters);
    std::vector<int> stopped;
    for (const int waiter : waiters) {
      if (is_stopped(analysis.rank(waiter).process)) stopped.push_back(waiter);
    }
    lines.push_back("no deadlock: " + verb(waiters, "waits", "wait") +
                    (!actors.empty()      ? " for " + ranks_words(actors)
                     : !stopped.empty()   ? ", and " + verb(stopped, "is stopped", "are stopped")
                     : !elsewhere.empty() ? std::string(" for processes of another job")
                     : unknown            ? std::string(" for a lock whose holder is not known")
                     : news ? std::string(", and not all of them have had time to look for news")
                            : std::string(" for what other threads or programs may do")));
  } else {
    lines.push_back("no rank waits for long");
  }
  for (const std::vector<int>& cycle : result.cycles) lines.push_back(cycle_words(cycle));
  add_rank_lines(analysis, snapshot, by_weight(analysis, result, waiters), lines);
  add_hints(snapshot, result, lines);
  elsewhere.erase(0);
  if (!elsewhere.empty())
    lines.push_back("  the other job: hearth why " + std::to_string(*elsewhere.begin()));
  return result;
}

}  // namespace hearth::launch
