// The contents of a board, aggregated by rank, pair, channel, function, protocol and communicator. mpiexec's
// only thread builds it after the job; the reports (json.h, page.h) format it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/board.h"
#include "shm/layout.h"
#include "topo/relation.h"

namespace hearth::profile {

/// Facts about the job that are not in the board.
struct JobFacts {
  std::string command;  // programs and arguments as on the command line
  std::string version;
  std::vector<shm::RankPlace> places;  // by rank
  bool one_clock = true;               // timestamps of different machines are comparable
  int processors = 0;
  int exit_code = 0;
  uint64_t ended_ns = 0;                    // os::now_ns() after the end of the last rank
  const char* (*call_name)(int) = nullptr;  // name of an MPI function by its number
};

/// Job facts from the parts that ranks have left (Board::gather). The caller fills in the version and
/// call_name.
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
  bool counted = false;    // it called MPI_Init and attached to the board
  bool finalized = false;  // false: it ended before MPI_Finalize
  double run_s = 0;        // from the end of MPI_Init to the begin of MPI_Finalize
  std::array<double, kWaits> waited_s = {};
  std::array<uint64_t, kWaits> waits = {};
  std::array<double, kWaits> longest_s = {};
  double copied_s = 0;  // time of the timed copies
  uint64_t timed_bytes = 0;
  uint64_t copied_bytes = 0;
  uint64_t machine = 0;
  Traffic sent;
  Traffic sent_away;  // part of `sent` that went to other machines
  Traffic received;   // counted by its senders
  uint64_t unexpected_messages = 0;
  uint64_t unexpected_depth_max = 0;
  uint64_t unexpected_bytes_max = 0;
  uint64_t fallbacks = 0;
  uint64_t file_accesses = 0;
  uint64_t file_read_bytes = 0;
  uint64_t file_written_bytes = 0;
  double file_s = 0;
  uint64_t memory_bytes_max = 0;
  uint64_t library_bytes = 0;
  uint64_t trace_events = 0;
  uint64_t trace_dropped = 0;

  double waited_all_s() const;
  /// Time outside observed waits and timed copies.
  double rest_s() const;
};

struct Channel {
  topo::Relation relation = topo::Relation::self;
  Traffic traffic;
  Classes messages = {};
  double even_share = 0;  // share of messages under an even distribution over all pairs of ranks
};

struct CallSummary {
  std::string name;
  uint64_t calls = 0;
  uint64_t bytes = 0;
  Classes by_size = {};
  bool has_sizes = false;
  bool estimated = false;  // some calls were not counted, only estimated from samples
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
  uint64_t calls = 0;        // of the rank with the most calls
  uint64_t bytes = 0;        // of all ranks
  double inside_s = 0;       // sum over all ranks, extrapolated from the timed collectives
  uint64_t timed = 0;        // collectives that all ranks timed
  double spread_mean_s = 0;  // time between the first and the last rank's arrival
  double spread_max_s = 0;
  int last_rank = -1;  // rank of MPI_COMM_WORLD that most often arrived last
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

/// Protocols between pairs of ranks with the same relation and thresholds, and the reasons.
struct Route {
  topo::Relation relation = topo::Relation::self;
  int pairs = 0;
  uint64_t ring_bytes_max = 0;
  uint64_t single_copy_bytes_min = 0;
  uint64_t arena_bytes_min = 0;
  CopyAbility single_copy = CopyAbility::untried;
  std::string method;
};

/// The wait of one rank for another, without collectives.
struct PairWait {
  int rank = -1;
  int peer = -1;
  Wait wait = Wait::late_sender;
  double waited_s = 0;
};

/// Cost of the profile itself.
struct Cost {
  uint64_t counts = 0;  // messages and calls counted one by one
  double count_ns = 0;  // measured
  uint64_t looks = 0;   // clock reads beyond those of the wait loops
  double look_ns = 0;   // measured
  double all_s() const {
    return (static_cast<double>(counts) * count_ns + static_cast<double>(looks) * look_ns) / 1e9;
  }
};

struct Summary {
  JobFacts job;
  double run_s = 0;  // maximum over the ranks
  std::vector<RankSummary> ranks;
  std::vector<Traffic> matrix;     // from * ranks + to
  std::vector<double> waited_for;  // rank * ranks + peer, seconds
  std::vector<Channel> channels;   // nearest relation first, only those with pairs
  std::vector<CallSummary> calls;  // most calls first
  std::vector<WaySummary> ways;
  std::vector<CommSummary> comms;  // most time first
  std::vector<SiteSummary> sites;  // longest first
  std::vector<Route> routes;
  std::vector<PairWait> pair_waits;  // longest first, limited in number
  Cost cost;
  std::string verdict;

  size_t size() const { return ranks.size(); }
  const Traffic& between(size_t from, size_t to) const { return matrix[from * size() + to]; }
  Traffic all() const;
  Traffic all_away() const;
  /// Number of machines of the counted ranks.
  size_t machines() const;
  /// Share of messages between machines under an even distribution over all pairs of ranks.
  double even_share_away() const;
  /// Fraction of the run time of all ranks.
  double share(double seconds) const;
};

const char* wait_name(Wait wait);
Summary summarize(const Board& board, const JobFacts& job);
/// The sentence at the top of the report: what dominates the run time.
std::string verdict_of(const Summary& summary);

}  // namespace hearth::profile
