#include "launch/why/why_hints.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/contexts.h"
#include "launch/why_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr size_t kHintsMax = 12;

uint32_t block_of(uint32_t context) {
  return context / kContextsEach * kContextsEach;
}

/// A receive or probe, posted or waited for.
struct Pattern {
  int peer;
  int tag;
  uint32_t context;
  bool operator<(const Pattern& other) const {
    return std::tie(peer, tag, context) < std::tie(other.peer, other.tag, other.context);
  }
};

std::string pattern_words(const SeenRank& rank, const Pattern& pattern) {
  std::string text = "the receive from ";
  text += pattern.peer == MPI_ANY_SOURCE ? "any rank" : process_words(rank, pattern.peer);
  text += pattern.tag == MPI_ANY_TAG ? ", any tag" : ", tag " + std::to_string(pattern.tag);
  return text + ", on " + comm_words(rank, pattern.context);
}

/// Whether the line of the sender reports this message already.
bool sends_to(const Snapshot& snapshot, const SeenMessage& message, int to) {
  if (static_cast<size_t>(message.peer) >= snapshot.ranks.size()) return false;
  for (const SeenWait& wait : snapshot.ranks[static_cast<size_t>(message.peer)].waits) {
    for (const SeenOperation& operation : wait.operations) {
      if (operation.kind == shm::WaitKind::send && operation.peer == to && operation.tag == message.tag &&
          operation.context == message.context) {
        return true;
      }
    }
  }
  return false;
}

// "rank 0 has a message from rank 1, tag 8, 4 bytes, on MPI_COMM_WORLD: it would match the receive from rank
// 1, tag 7, on MPI_COMM_WORLD but for its tag"
void add_near_misses(const Snapshot& snapshot, int index, bool stuck, std::vector<std::string>& lines) {
  const SeenRank& rank = snapshot.ranks[static_cast<size_t>(index)];
  std::set<Pattern> patterns;
  const auto add_wait = [&patterns](const SeenWait& wait) {
    for (const SeenOperation& operation : wait.operations) {
      if (operation.kind != shm::WaitKind::receive && operation.kind != shm::WaitKind::probe) continue;
      patterns.insert({operation.peer, operation.tag, operation.context});
    }
  };
  for (const SeenWait& wait : rank.waits) add_wait(wait);
  if (rank.polling) add_wait(*rank.polling);
  for (const SeenMessage& posted : rank.posted) {
    if (!is_collective(posted.context)) patterns.insert({posted.peer, posted.tag, posted.context});
  }
  for (const SeenMessage& message : rank.unexpected) {
    if (is_collective(message.context) || is_of_window(rank, message.context)) continue;
    const Pattern* nearest = nullptr;
    const char* difference = nullptr;
    for (const Pattern& pattern : patterns) {
      const bool peer = pattern.peer == MPI_ANY_SOURCE || pattern.peer == message.peer;
      const bool tag = pattern.tag == MPI_ANY_TAG || pattern.tag == message.tag;
      const bool context = pattern.context == message.context;
      if (peer + tag + context != 2) continue;
      // A wrong sender is the least likely mistake, so other differences take precedence.
      if (nearest != nullptr && !peer) continue;
      nearest = &pattern;
      difference = !tag ? "tag" : !context ? "communicator" : "sender";
    }
    std::string text = "  rank " + std::to_string(index) + " has a message from " +
                       process_words(rank, message.peer) + ", tag " + std::to_string(message.tag) + ", " +
                       std::to_string(message.bytes) + " bytes, on " + comm_words(rank, message.context);
    if (nearest == nullptr && (!stuck || sends_to(snapshot, message, index))) continue;
    if (nearest == nullptr) {
      text += ", that no receive fits";
    } else {
      text += ": it would match " + pattern_words(rank, *nearest) + " but for its " + difference;
    }
    lines.push_back(text);
  }
}

struct Collective {
  std::vector<int> present;
  std::set<int> missing;
  std::map<std::string, std::vector<int>> functions;
  std::map<int, std::vector<int>> roots;
  const SeenRank* seen_by = nullptr;
  uint32_t context = 0;
};

std::map<uint32_t, Collective> collectives_of(const Snapshot& snapshot) {
  std::map<uint32_t, Collective> all;
  for (int index = 0; index < static_cast<int>(snapshot.ranks.size()); ++index) {
    const SeenRank& rank = snapshot.ranks[static_cast<size_t>(index)];
    for (const SeenWait& wait : rank.waits) {
      if (wait.kind != shm::WaitKind::collective || wait.operations.empty()) continue;
      Collective& one = all[block_of(wait.operations[0].context)];
      one.present.push_back(index);
      one.missing.insert(wait.missing.begin(), wait.missing.end());
      const std::string& behind_request = wait.operations[0].collective;
      one.functions[behind_request.empty() ? call_words(wait) : behind_request + " behind a request"]
          .push_back(index);
      if (wait.operations[0].tag >= 0) one.roots[wait.operations[0].tag].push_back(index);
      one.seen_by = &rank;
      one.context = wait.operations[0].context;
    }
  }
  return all;
}

void add_collectives(const Snapshot& snapshot, std::vector<std::string>& lines) {
  for (auto& [block, one] : collectives_of(snapshot)) {
    const std::string comm = comm_words(*one.seen_by, one.context);
    if (one.functions.size() > 1) {
      std::string text = "  different collectives on " + comm + ": ";
      for (auto at = one.functions.begin(); at != one.functions.end(); ++at) {
        if (at != one.functions.begin()) text += ", ";
        text += ranks_words(at->second) + " in " + at->first;
      }
      lines.push_back(text + ". All its ranks have to call them in the same order");
      continue;
    }
    if (one.roots.size() > 1) {
      std::string text = "  different roots of " + one.functions.begin()->first + " on " + comm + ": ";
      for (auto at = one.roots.begin(); at != one.roots.end(); ++at) {
        if (at != one.roots.begin()) text += ", ";
        text += ranks_words(at->second) + " with root " + std::to_string(at->first);
      }
      lines.push_back(text + ". All its ranks have to name the same root");
      continue;
    }
    for (const int present : one.present) one.missing.erase(present);
    if (one.missing.empty()) continue;
    const std::vector<int> missing(one.missing.begin(), one.missing.end());
    lines.push_back("  " + one.functions.begin()->first + " on " + comm + ": " + ranks_words(one.present) +
                    (one.present.size() == 1 ? " has" : " have") + " come, " +
                    processes_words(*one.seen_by, missing) +
                    (missing.size() == 1 ? " has not" : " have not"));
  }
}

/// Whether each rank of a cycle has exactly one wait, and all of these have this kind.
bool all_wait_for(const Snapshot& snapshot, const std::vector<int>& cycle, shm::WaitKind kind) {
  return std::all_of(cycle.begin(), cycle.end(), [&](int index) {
    const std::vector<SeenWait>& waits = snapshot.ranks[static_cast<size_t>(index)].waits;
    return waits.size() == 1 && waits[0].kind == kind;
  });
}

void add_order(const Snapshot& snapshot, const Explanation& explanation, std::vector<std::string>& lines) {
  for (const std::vector<int>& cycle : explanation.cycles) {
    if (cycle.size() > 1 && all_wait_for(snapshot, cycle, shm::WaitKind::send)) {
      lines.push_back(
          "  all of the cycle send before they receive, and messages of this length wait for their receive. "
          "Remedy: MPI_Sendrecv, or MPI_Isend before the receive");
    } else if (cycle.size() > 1 && all_wait_for(snapshot, cycle, shm::WaitKind::receive)) {
      lines.push_back("  all of the cycle receive before they send");
    }
  }
}

}  // namespace

void add_hints(const Snapshot& snapshot, const Explanation& explanation, std::vector<std::string>& lines) {
  std::vector<std::string> hints;
  add_order(snapshot, explanation, hints);
  if (explanation.verdict != Verdict::quiet) add_collectives(snapshot, hints);
  // In a job that proceeds, unexpected messages are normal.
  if (explanation.verdict > Verdict::waiting) {
    const std::set<int> stuck(explanation.stuck.begin(), explanation.stuck.end());
    for (int index = 0; index < static_cast<int>(snapshot.ranks.size()); ++index) {
      if (hints.size() >= kHintsMax) break;
      add_near_misses(snapshot, index, stuck.contains(index), hints);
    }
  }
  if (hints.size() > kHintsMax) hints.resize(kHintsMax);
  lines.insert(lines.end(), hints.begin(), hints.end());
}

}  // namespace hearth::launch
