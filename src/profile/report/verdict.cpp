// The verdict: one sentence at the top of a profile.
#include <algorithm>
#include <cstddef>

#include "profile/report/words.h"

namespace hearth::profile {
namespace {

// A smaller share of the time is not called dominant.
constexpr double kWorthTelling = 0.1;

// Longest reported chain of ranks that wait for each other.
constexpr int kChainMax = 4;

bool waits_mostly(const RankSummary& rank) {
  return rank.waited_all_s() > rank.rest_s();
}

// The rank that a rank waits for longest; -1: none.
int awaited_by(const Summary& summary, size_t rank) {
  const auto first = summary.waited_for.begin() + static_cast<std::ptrdiff_t>(rank * summary.size());
  const auto most = std::max_element(first, first + static_cast<std::ptrdiff_t>(summary.size()));
  return *most > 0 ? static_cast<int>(most - first) : -1;
}

// Follows the chain of waits ("rank 3 waits for rank 2, which waits for rank 0, which computes"): its end is
// the cause.
std::string of_pair(const Summary& summary, const PairWait& worst) {
  const RankSummary& waiting = summary.ranks[static_cast<size_t>(worst.rank)];
  std::string text = "Rank " + std::to_string(worst.rank) + " waits " +
                     percent_words(waiting.run_s > 0 ? worst.waited_s / waiting.run_s : 0) +
                     " of its time for rank " + std::to_string(worst.peer) +
                     (worst.wait == Wait::late_receiver ? " to receive" : "");
  std::vector<int> chain = {worst.rank, worst.peer};
  for (;;) {
    const auto at = static_cast<size_t>(chain.back());
    const RankSummary& rank = summary.ranks[at];
    if (!rank.counted) return text + ", which did not get as far as MPI_Init.";
    if (!waits_mostly(rank)) {
      return text + ", which computes (" + percent_words(rank.run_s > 0 ? rank.rest_s() / rank.run_s : 0) +
             " of its time neither waits nor long copies).";
    }
    const int next = awaited_by(summary, at);
    if (next >= 0 && std::find(chain.begin(), chain.end(), next) == chain.end() && chain.size() < kChainMax) {
      text += ", which waits for rank " + std::to_string(next);
      chain.push_back(next);
      continue;
    }
    // Threads of a rank wait in parallel, so the sum may exceed the run time.
    const double waits = std::min(1.0, rank.waited_all_s() / rank.run_s);
    text += ", which waits itself (" + percent_words(waits) + " of its time)";
    const bool crowded =
        summary.job.processors > 0 && static_cast<int>(summary.size()) > summary.job.processors;
    return text + (crowded ? "; there are more ranks than processors." : ".");
  }
}

std::string of_collectives(const Summary& summary, double waited_s) {
  std::string text = "Collectives dominate: the ranks wait in them for " +
                     percent_words(summary.share(waited_s)) + " of their time";
  const auto slow = std::find_if(summary.comms.begin(), summary.comms.end(),
                                 [](const CommSummary& comm) { return comm.timed > 0; });
  if (slow == summary.comms.end()) return text + ".";
  text += "; in those of " + (slow->name.empty() ? "a communicator without a name" : slow->name) + " rank " +
          std::to_string(slow->last_rank) + " comes last in " + percent_words(slow->last_share) + ", " +
          time_words(slow->spread_mean_s) + " after the first on average.";
  return text;
}

}  // namespace

std::string verdict_of(const Summary& summary) {
  const auto counted = std::count_if(summary.ranks.begin(), summary.ranks.end(),
                                     [](const RankSummary& rank) { return rank.counted; });
  if (counted == 0) return "No rank called MPI_Init, so nothing was counted.";
  double collective_s = 0;
  double messages_s = 0;
  double copied_s = 0;
  double rest_s = 0;
  for (const RankSummary& rank : summary.ranks) {
    const double in_collectives = rank.waited_s[static_cast<size_t>(Wait::collective)];
    collective_s += in_collectives;
    messages_s += rank.waited_all_s() - in_collectives;
    copied_s += rank.copied_s;
    rest_s += rank.rest_s();
  }
  const double most_s = std::max({collective_s, messages_s, copied_s});
  if (summary.share(most_s) < kWorthTelling) {
    return "The ranks compute: " + percent_words(summary.share(rest_s)) +
           " of their time is neither waiting for messages nor long copies.";
  }
  if (most_s == copied_s) {
    return "Copying dominates: the ranks copy messages for " + percent_words(summary.share(copied_s)) +
           " of their time, and wait for " + percent_words(summary.share(messages_s + collective_s)) + ".";
  }
  if (most_s == collective_s) return of_collectives(summary, collective_s);
  if (!summary.pair_waits.empty()) return of_pair(summary, summary.pair_waits.front());
  return "The ranks wait for any of several messages for " + percent_words(summary.share(messages_s)) +
         " of their time.";
}

}  // namespace hearth::profile
