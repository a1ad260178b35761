#include "launch/why_words.h"

#include <algorithm>
#include <cstdio>

#include "base/contexts.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

constexpr size_t kRanksNamed = 8;
// A polling program publishes at least one poll in this time.
constexpr uint64_t kBeatNsMax = 2'000'000'000;
// A process that uses more than this share of a processor computes.
constexpr double kComputes = 0.1;

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string for_time(uint64_t since_ns, uint64_t now_ns) {
  if (now_ns <= since_ns) return "";
  char text[40];
  std::snprintf(text, sizeof text, ", for %.1f s", static_cast<double>(now_ns - since_ns) / 1e9);
  return text;
}

const SeenForeign* foreign_of(const SeenRank& rank, int process) {
  const auto found = std::find_if(rank.foreign.begin(), rank.foreign.end(),
                                  [process](const SeenForeign& one) { return one.peer == process; });
  return found == rank.foreign.end() ? nullptr : &*found;
}

std::string peer_words(const SeenRank& rank, const SeenOperation& operation) {
  if (operation.peer == MPI_ANY_SOURCE) return "any rank";
  const SeenForeign* const foreign = foreign_of(rank, operation.peer);
  const int world_rank = foreign == nullptr ? operation.peer : foreign->rank;
  const bool other_number = operation.peer_rank >= 0 && operation.peer_rank != world_rank;
  return process_words(rank, operation.peer) +
         (other_number ? " (rank " + std::to_string(operation.peer_rank) + " there)" : "");
}

std::string tag_words(int tag) {
  return tag == MPI_ANY_TAG ? "any tag" : "tag " + std::to_string(tag);
}

const SeenComm* comm_of(const SeenRank& rank, uint32_t context) {
  for (const SeenComm& comm : rank.comms) {
    if (comm.context == context / kContextsEach * kContextsEach) return &comm;
  }
  return nullptr;
}

bool one_context(const SeenWait& wait) {
  return std::all_of(wait.operations.begin(), wait.operations.end(), [&wait](const SeenOperation& operation) {
    return operation.context / kContextsEach == wait.operations[0].context / kContextsEach;
  });
}

std::string operations_words(const SeenRank& rank, const SeenWait& wait) {
  constexpr size_t kNamed = 4;
  std::vector<std::string> words;
  for (const SeenOperation& operation : wait.operations) {
    if (words.size() == kNamed) break;
    words.push_back(operation_words(rank, operation));
  }
  if (wait.operation_count > words.size()) {
    words.push_back(std::to_string(wait.operation_count - words.size()) + " more");
  }
  std::string text = join(words);
  if (wait.operation_count > 1) {
    text = (wait.any_suffices ? "one of: " : "all of: ") + text;
  }
  return text;
}

std::string missing_words(const SeenRank& rank, const SeenWait& wait) {
  std::string text = processes_words(rank, wait.missing);
  if (wait.missing_count > wait.missing.size()) {
    text += " and " + std::to_string(wait.missing_count - wait.missing.size()) + " more";
  }
  return text;
}

/// "held by ranks 1 and 2 and another rank that is not known".
std::string holders_words(const SeenRank& rank, const SeenWait& wait) {
  const uint64_t holders = wait.operations[0].bytes;
  const uint64_t known = wait.missing_count;
  if (known == 0) return "whose holder is not known";
  std::string text = "held by " + missing_words(rank, wait);
  if (known < holders) text += " and " + std::to_string(holders - known) + " that are not known";
  return text;
}

/// The last wait of a rank that is outside MPI.
std::string last_wait_words(const SeenWait& wait, uint64_t now_ns) {
  std::string text = "; its last wait was in " + wait.function;
  if (!wait.site.empty()) text += ", called from " + wait.site;
  if (now_ns > wait.beat_ns) {
    char ago[40];
    std::snprintf(ago, sizeof ago, ", %.1f s ago", static_cast<double>(now_ns - wait.beat_ns) / 1e9);
    text += ago;
  }
  return text;
}

}  // namespace

std::string ranks_words(const std::vector<int>& given) {
  std::vector<int> ranks = given;
  std::sort(ranks.begin(), ranks.end());
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return "rank " + std::to_string(ranks[0]);
  std::vector<std::string> words;
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (words.size() == kRanksNamed) {
      words.push_back(std::to_string(ranks.size() - first) + " others");
      break;
    }
    if (last - first < 2) last = first;
    words.push_back(std::to_string(ranks[first]) +
                    (last > first ? " to " + std::to_string(ranks[last]) : ""));
    first = last + 1;
  }
  return "ranks " + join(words);
}

std::string process_words(const SeenRank& rank, int process) {
  const SeenForeign* const foreign = foreign_of(rank, process);
  if (foreign == nullptr) return "rank " + std::to_string(process);
  const std::string pid = foreign->pid == 0 ? "" : " (process " + std::to_string(foreign->pid) + ")";
  return "rank " + std::to_string(foreign->rank) + " of another job" + pid;
}

std::string processes_words(const SeenRank& rank, const std::vector<int>& processes) {
  std::vector<int> own_job;
  std::vector<std::string> words;
  for (const int process : processes) {
    if (foreign_of(rank, process) == nullptr) {
      own_job.push_back(process);
    } else {
      words.push_back(process_words(rank, process));
    }
  }
  if (!own_job.empty() || words.empty()) words.insert(words.begin(), ranks_words(own_job));
  return join(words);
}

bool is_of_window(const SeenRank& rank, uint32_t context) {
  const SeenComm* comm = comm_of(rank, context);
  return comm != nullptr && comm->kind == shm::CommKind::window;
}

std::string comm_words(const SeenRank& rank, uint32_t context) {
  const uint32_t block = context / kContextsEach * kContextsEach;
  if (block == kWorldContext) return "MPI_COMM_WORLD";
  if (block == kSelfContext) return "MPI_COMM_SELF";
  if (block == kInvitationContext) return "a communicator in the making";
  const SeenComm* comm = comm_of(rank, context);
  const std::string number = "context " + std::to_string(block);
  if (comm == nullptr) return "a communicator (" + number + ")";
  if (comm->kind == shm::CommKind::window) return comm->name;
  const bool is_inter = comm->kind == shm::CommKind::inter;
  const std::string kind = is_inter ? "intercommunicator" : "communicator";
  const std::string size = std::to_string(comm->size) + (comm->size == 1 ? " rank" : " ranks");
  if (comm->name.empty())
    return "a" + std::string(is_inter ? "n " : " ") + kind + " of " + size + " (" + number + ")";
  return kind + " '" + comm->name + "' of " + size;
}

bool is_message(shm::WaitKind kind) {
  return kind == shm::WaitKind::send || kind == shm::WaitKind::receive || kind == shm::WaitKind::probe;
}

std::string operation_words(const SeenRank& rank, const SeenOperation& operation) {
  switch (operation.kind) {
    case shm::WaitKind::send:
      return peer_words(rank, operation) + " to receive " + std::to_string(operation.bytes) + " bytes" +
             (operation.type == nullptr ? std::string() : std::string(" of ") + operation.type) + ", " +
             tag_words(operation.tag);
    case shm::WaitKind::receive:
    case shm::WaitKind::probe:
      return "a message from " + peer_words(rank, operation) + ", " + tag_words(operation.tag);
    case shm::WaitKind::collective:
      return operation.collective.empty() ? "a collective operation"
                                          : "the collective " + operation.collective;
    case shm::WaitKind::call:
      return operation.collective + " by " + peer_words(rank, operation);
    case shm::WaitKind::progress:
      return peer_words(rank, operation) + " to progress in a call of MPI";
    case shm::WaitKind::lock:
      return "the lock on the memory of " + peer_words(rank, operation);
    case shm::WaitKind::file:
      return "the system to " + operation.collective +
             (operation.bytes > 0 ? " " + std::to_string(operation.bytes) + " bytes" : std::string());
    default:
      return "a request of another kind";
  }
}

std::string call_words(const SeenWait& wait) {
  if (!wait.function.empty()) return wait.function;
  switch (wait.kind) {
    case shm::WaitKind::send:
      return "a send";
    case shm::WaitKind::receive:
      return "a receive";
    case shm::WaitKind::probe:
      return "a probe";
    case shm::WaitKind::finalize:
      return "MPI_Finalize";
    case shm::WaitKind::collective:
      return "a collective operation";
    case shm::WaitKind::polling:
      return "MPI_Test or its like";
    case shm::WaitKind::lock:
      return "a lock of a window";
    case shm::WaitKind::file:
      return "a call on a file";
    default:
      return "a wait for requests";
  }
}

std::string wait_words(const SeenRank& rank, const SeenWait& wait, uint64_t now_ns) {
  const bool polling = wait.kind == shm::WaitKind::polling;
  std::string text =
      polling ? "calls " + call_words(wait) + " again and again" : "waits in " + call_words(wait);
  const bool only_collective = wait.operations.size() == 1 && wait.operation_count == 1 &&
                               wait.operations[0].kind == shm::WaitKind::collective;
  if (only_collective) {
    const std::string& name = wait.operations[0].collective;
    if (!name.empty()) text += " (" + name + ")";
    if (wait.operations[0].tag >= 0) text += " with root " + std::to_string(wait.operations[0].tag);
    text += " on " + comm_words(rank, wait.operations[0].context);
    text += wait.missing.empty() ? "" : " for " + missing_words(rank, wait);
  } else if (!wait.operations.empty()) {
    text += " for " + operations_words(rank, wait);
    if (one_context(wait)) text += ", on " + comm_words(rank, wait.operations[0].context);
    if (wait.kind == shm::WaitKind::lock) {
      text += ", " + holders_words(rank, wait);
    } else if (!wait.missing.empty()) {
      text += ", in the collective for " + missing_words(rank, wait);
    }
  } else if (wait.kind == shm::WaitKind::finalize) {
    text += " for the other ranks to take what it sent";
  }
  text += for_time(wait.since_ns, now_ns);
  if (!wait.site.empty()) text += ", called from " + wait.site;
  return text;
}

bool is_stopped(const SeenProcess& process) {
  return process.state == 'T' || process.state == 't';
}

bool polls(const SeenRank& rank, uint64_t now_ns) {
  return rank.polling && now_ns < rank.polling->beat_ns + kBeatNsMax;
}

std::string outside_words(const SeenRank& rank, uint64_t now_ns) {
  const SeenProcess& process = rank.process;
  if (rank.phase == shm::RankPhase::finalized) {
    return process.ended ? "has called MPI_Finalize and ended" : "has called MPI_Finalize and not ended yet";
  }
  if (rank.waits_briefly && !process.ended) return "is in calls that wait for a moment only";
  const bool outside = rank.phase == shm::RankPhase::outside;
  if (process.ended) return outside ? "has ended without calling MPI_Init" : "has ended";
  std::string text = outside ? "has not called MPI_Init" : "is outside MPI";
  char words[64];
  if (is_stopped(process)) {
    text += ", and is stopped (SIGCONT lets it go on)";
  } else if (process.processors >= kComputes) {
    std::snprintf(words, sizeof words, ", and computes (uses %.2f processors)", process.processors);
    text = (outside ? text : "is outside MPI, or in calls that do not wait for long") + words;
  } else if (process.state == 'R') {
    text += ", and computes, or would if it got a processor";
  } else if (process.state == 'S' || process.state == 'D') {
    text += process.blocked_in.empty() ? ", and sleeps" : ", and sleeps in " + process.blocked_in;
    if (!process.called_from.empty()) text += ", called from about " + process.called_from;
  }
  if (rank.last_wait && !rank.last_wait->function.empty()) text += last_wait_words(*rank.last_wait, now_ns);
  return text;
}

std::string rank_state_words(const SeenRank& rank, uint64_t now_ns) {
  if (rank.process.ended || rank.phase != shm::RankPhase::initialized) return outside_words(rank, now_ns);
  if (rank.waits.empty()) {
    return polls(rank, now_ns) ? wait_words(rank, *rank.polling, now_ns) : outside_words(rank, now_ns);
  }
  std::string text;
  for (const SeenWait& wait : rank.waits) {
    if (!text.empty()) text += "; another thread ";
    text += wait_words(rank, wait, now_ns);
  }
  if (is_stopped(rank.process)) text += "; it is stopped (SIGCONT lets it go on)";
  return text;
}

}  // namespace hearth::launch
