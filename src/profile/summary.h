// What a board says, put together: by rank, pair, channel, function, protocol and communicator. Made by
// mpiexec when the job is over, in its one thread; the reports (json.h, page.h) only show it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/board.h"
#include "shm/layout.h"
#include "topo/relation.h"

namespace hearth::profile {

/// What mpiexec knows beside the board.
struct JobFacts {
  std::string command;  // the programs, as on the command line
  std::string version;
  std::vector<shm::RankPlace> places;  // by rank
  bool one_clock = true;               // times of ranks on different machines can be compared
  int processors = 0;
  int exit_code = 0;
  uint64_t ended_ns = 0;                    // os::now_ns() when the last rank had ended
  const char* (*call_name)(int) = nullptr;  // of an MPI function, by its number
};

/// The same as far as the parts say that ranks have left (Board::gather); version and names of calls are the
/// caller's.
JobFacts job_of(const std::vector<PartFacts>& parts);

using Classes = std::array<uint64_t, kClasses>;

struct Traffic {
  uint64_t messages = 0;
  uint64_t bytes = 0;
  Traffic& operator+=(const Traffic& more) {
    messages += more.messages;
    bytes += more.bytes;
    return *this;
  }
};

struct RankSummary {
  bool counted = false;    // it has called MPI_Init and found the board
  bool finalized = false;  // otherwise it ended before, or was ended
  double run_s = 0;        // from the end of MPI_Init to the begin of MPI_Finalize
  std::array<double, kWaits> waited_s = {};
  std::array<uint64_t, kWaits> waits = {};
  std::array<double, kWaits> longest_s = {};
  double copied_s = 0;  // timed copies
  uint64_t timed_bytes = 0;
  uint64_t copied_bytes = 0;
  uint64_t machine = 0;
  Traffic sent;
  Traffic sent_away;  // of it, to ranks of other machines
  Traffic received;   // as its senders counted it
  uint64_t unexpected_messages = 0;
  uint64_t unexpected_depth_max = 0;
  uint64_t unexpected_bytes_max = 0;
  uint64_t fallbacks = 0;
  uint64_t memory_bytes_max = 0;
  uint64_t library_bytes = 0;
  uint64_t trace_events = 0;
  uint64_t trace_dropped = 0;

  double waited_all_s() const;
  /// Neither waiting as far as that was seen, nor in a timed copy.
  double rest_s() const;
};

struct Channel {
  topo::Relation relation = topo::Relation::self;
  Traffic traffic;
  Classes messages = {};
  double even_share = 0;  // of messages, if every rank sent as much to each other rank
};

struct CallSummary {
  std::string name;
  uint64_t calls = 0;
  uint64_t bytes = 0;
  Classes by_size = {};
  bool has_sizes = false;
  bool estimated = false;  // some of the calls went unseen
};

struct WaySummary {
  const char* name = "";
  Traffic traffic;
  Classes by_size = {};
};

struct CommSummary {
  uint32_t context = 0;
  std::string name;
  int size = 0;
  uint64_t calls = 0;        // of one rank: the most
  uint64_t bytes = 0;        // of all ranks
  double inside_s = 0;       // of all ranks together, from the collectives that were timed
  uint64_t timed = 0;        // collectives that all ranks timed
  double spread_mean_s = 0;  // between the first and the last rank to come
  double spread_max_s = 0;
  int last_rank = -1;  // of MPI_COMM_WORLD: who came last most often
  double last_share = 0;
};

struct SiteSummary {
  int rank = 0;
  Wait wait = Wait::late_sender;
  int peer = -1;
  double waited_s = 0;
  uint64_t waits = 0;
  std::vector<Frame> frames;
};

/// How messages go between ranks that are as near to each other, and why.
struct Route {
  topo::Relation relation = topo::Relation::self;
  int pairs = 0;
  uint64_t ring_bytes_max = 0;
  uint64_t single_copy_bytes_min = 0;
  uint64_t arena_bytes_min = 0;
  CopyAbility single_copy = CopyAbility::untried;
  std::string method;
};

/// Who waits for whom longest, not counting collectives.
struct PairWait {
  int rank = -1;
  int peer = -1;
  Wait wait = Wait::late_sender;
  double waited_s = 0;
};

/// What the profile itself took.
struct Cost {
  uint64_t counts = 0;  // messages and calls that were counted one by one
  double count_ns = 0;  // measured
  uint64_t looks = 0;   // at the clock, beyond those that waiting takes anyway
  double look_ns = 0;   // measured
  double all_s() const {
    return (static_cast<double>(counts) * count_ns + static_cast<double>(looks) * look_ns) / 1e9;
  }
};

struct Summary {
  JobFacts job;
  double run_s = 0;  // the longest of a rank
  std::vector<RankSummary> ranks;
  std::vector<Traffic> matrix;     // from * ranks + to
  std::vector<double> waited_for;  // rank * ranks + peer, seconds
  std::vector<Channel> channels;   // nearest first, those with pairs only
  std::vector<CallSummary> calls;  // most calls first
  std::vector<WaySummary> ways;
  std::vector<CommSummary> comms;  // most time first
  std::vector<SiteSummary> sites;  // longest first
  std::vector<Route> routes;
  std::vector<PairWait> pair_waits;  // longest first, a few
  Cost cost;
  std::string verdict;

  size_t size() const { return ranks.size(); }
  const Traffic& between(size_t from, size_t to) const { return matrix[from * size() + to]; }
  Traffic all() const;
  Traffic all_away() const;
  /// How many the ranks that were counted are on.
  size_t machines() const;
  /// The part of the messages that would go between machines if every rank sent as much to each other rank.
  double even_share_away() const;
  /// Of the time of all ranks together.
  double share(double seconds) const;
};

const char* wait_name(Wait wait);
Summary summarize(const Board& board, const JobFacts& job);
/// The sentence at the top: what dominates.
std::string verdict_of(const Summary& summary);

}  // namespace hearth::profile
