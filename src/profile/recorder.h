// The rank's half of --profile and --trace: counts events of this process in its part of the board. A
// profiled process has one recorder, any other has none. Called by p2p, coll and abi under the library's
// lock, unless stated otherwise.
//
// The fast path of a message, from MPI_Send into the ring and from there to MPI_Recv, bypasses the recorder;
// p2p/message_profile.h counts these messages by sampling. The clock is read only for copies of at least
// kTimedBytes; waits use timestamps that the wait loop takes anyway.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counts.h"
#include "base/lock.h"
#include "base/os_wait.h"
#include "base/peer_index.h"
#include "profile/board.h"
#include "topo/relation.h"

namespace hearth::profile {

/// Protocol thresholds for the messages to a process.
struct Limits {
  uint64_t ring_bytes_max = 0;
  uint64_t single_copy_bytes_min = 0;
  uint64_t arena_bytes_min = 0;
};

/// A collective call: the number of its MPI function and its bytes.
struct CollectiveCall {
  int call = -1;  // none: a call that uses a collective internally
  uint64_t bytes = 0;
};
/// Identity of a communicator.
struct CommFacts {
  uint32_t context;
  PeerIndex leader;
  int size;
  std::string_view name;
};

class Recorder {
 public:
  /// Pre: the board is attached and outlives the recorder. `machine` is the number of this rank's machine.
  Recorder(const Board& board, PeerIndex self, int machine);

  // Lifetime of the rank
  void begin();
  void end(uint64_t pool_bytes);

  // Messages
  PeerCounts* counts(PeerIndex peer) { return &part_.peers[peer]; }
  void set_limits(PeerIndex peer, topo::Relation relation, const Limits& limits);
  void set_method(PeerIndex peer, const char* method);
  /// Counts a sent message; `way` is its index in p2p::Protocol. `sampled`: it represents uncounted messages.
  void sent(PeerIndex to, int way, uint64_t bytes, int tag, bool sampled);
  /// Recounts a message that was announced as `way` and used bounce buffers after all.
  void fell_back(PeerIndex to, int way, uint64_t bytes);
  void arrived(PeerIndex from, uint64_t bytes, int tag);
  /// Counts a sampled receive; most receives are not counted.
  void received_sample(uint64_t bytes);
  /// Sets the number of uncounted messages that matched posted receives.
  void set_posted(uint64_t messages) { head_.posted_unseen = messages; }
  void unexpected(size_t depth, uint64_t bytes);
  void expected(uint64_t bytes) { unexpected_bytes_ -= bytes; }
  void copied(PeerIndex peer, uint64_t bytes, uint64_t begun_ns, uint64_t ended_ns);

  /// A data access of a file has ended.
  void accessed_file(bool writing, uint64_t bytes, uint64_t ns);

  // Waits
  /// Adds waiting time of this kind, for `peer` or for any process; `first`: the first part of a wait.
  void waited(Wait wait, PeerIndex peer, uint64_t ns, bool first, int site);
  /// A completed wait, for the trace.
  void wait_is_over(Wait wait, PeerIndex peer, uint64_t begun_ns, uint64_t ended_ns);
  /// Records the call site of a long wait. Returns its index, or -1 if nothing could be recorded.
  int note_site();

  // Collectives. All ranks of a communicator call the blocking ones in the same order.
  Moment* collective(const CommFacts& comm, const CollectiveCall& call);

  const RankHead& head() const { return head_; }

  // Trace
  bool tracing() const { return part_.event_count > 0; }
  void called(int call, uint64_t begun_ns, uint64_t ended_ns);

 private:
  /// False for processes of other jobs and for "any".
  bool has_row(PeerIndex peer) const {
    return peer >= 0 && static_cast<uint32_t>(peer) < board_.rank_count();
  }
  CommCounts* comm_of(const CommFacts& facts);
  TraceEvent* new_event();
  void message_event(EventKind kind, PeerIndex peer, int way, uint64_t bytes, int tag, uint64_t number);

  const Board& board_;
  Part part_;
  RankHead& head_;
  uint64_t unexpected_bytes_ = 0;
  int comms_used_ = 0;
  CommCounts* last_comm_ = nullptr;
  std::vector<uint64_t> sent_numbers_;  // by peer; while tracing
  std::vector<uint64_t> arrived_numbers_;
  uint32_t threads_ = 0;  // threads with at least one event
};

/// The recorder of this process; nullptr without a profile. Set before MPI is active.
inline Recorder* process_recorder = nullptr;

// Calls of MPI functions; the entry points count them without the lock.
inline CallCounts* call_counts = nullptr;
/// The collective that this thread executes.
inline thread_local CollectiveCall collective_call;

/// Whether a trace is written as well.
inline bool process_traced = false;

inline void add(uint64_t& count, uint64_t more) {
  if (LibraryLock::enabled) [[unlikely]] {
    atomic::fetch_add(count, more);
  } else {
    count += more;
  }
}

inline void count_call(int call) {
  add(call_counts[call].calls_without_size, 1);
}
inline void count_call(int call, uint64_t bytes) {
  CallCounts& counts = call_counts[call];
  add(counts.calls[class_of(bytes)], 1);
  add(counts.bytes, bytes);
}

/// Messages of a pair of ranks, or posted receives, that are counted one by one, so that tests and short jobs
/// have exact figures. Of the later ones, about one in kIntervalMean is sampled.
constexpr uint32_t kSeenEach = 4096;
constexpr uint32_t kIntervalMean = 2048;
/// Draws the distance to the next sample, at least 1. `chance` is the state of the generator.
inline uint32_t draw_interval(uint32_t& chance) {
  chance = chance * 1664525u + 1013904223u;
  return 1 + (chance >> 16) % (2 * kIntervalMean);
}

/// The call that runs on the counted path and has not been counted yet; -1: none, or a call that its entry
/// point counts. Accessed under the lock. With several threads, one call is occasionally counted as another,
/// because a waiting thread yields the lock.
inline int frequent_call = -1;
/// The call that is implemented by other MPI calls, which are not counted then; -1: none.
inline int outer_call = -1;

/// Counts a call unless it is part of another one.
inline void count_call_of(int call, uint64_t bytes) {
  if (call >= 0 && outer_call < 0) count_call(call, bytes);
}

/// Sampling of receives that the fast path posts: a randomly drawn one represents those since the last
/// sample.
struct PostDraw {
  uint32_t left = 1;
  uint32_t drawn = 1;
  uint64_t posts = 0;  // counted or represented by a sample
  int call = -1;
};
inline PostDraw post_draw;
inline bool post_is_drawn() {
  return --post_draw.left == 0;
}
void count_drawn_post(int call, uint64_t bytes);

/// Sets one of the two variables for a scope. Costs two stores, also without a profile.
class CallScope {
 public:
  CallScope(int& place, int call) : place_(place) { place_ = call; }
  ~CallScope() { place_ = -1; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  int& place_;
};

/// Counts the frequent call once, unless it is part of another one.
inline void count_frequent_call(uint64_t bytes) {
  if (call_counts != nullptr) count_call_of(frequent_call, bytes);
  frequent_call = -1;
}

/// Times a copy of at least kTimedBytes.
class CopyTimer {
 public:
  CopyTimer(Recorder* recorder, PeerIndex peer, uint64_t bytes)
      : recorder_(recorder), peer_(peer), bytes_(bytes) {
    if (recorder_ != nullptr) [[unlikely]]
      begun_ns_ = bytes >= kTimedBytes ? os::now_ns() : 0;
  }
  ~CopyTimer() {
    if (recorder_ != nullptr) [[unlikely]]
      recorder_->copied(peer_, bytes_, begun_ns_, begun_ns_ != 0 ? os::now_ns() : 0);
  }
  CopyTimer(const CopyTimer&) = delete;
  CopyTimer& operator=(const CopyTimer&) = delete;
  /// The copy did not happen, or used another method.
  void forget() { recorder_ = nullptr; }

 private:
  Recorder* recorder_;
  const PeerIndex peer_;
  const uint64_t bytes_;
  uint64_t begun_ns_ = 0;
};

/// Counts a blocking collective, and times it if its number is sampled. Takes an objects::Comm.
class CollectiveTimer {
 public:
  template <class Comm>
  explicit CollectiveTimer(const Comm& comm) {
    if (process_recorder == nullptr) [[likely]]
      return;
    moment_ = process_recorder->collective({comm.context, comm.group->peers[0], comm.size, comm.name},
                                           std::exchange(collective_call, CollectiveCall()));
  }
  ~CollectiveTimer() {
    if (moment_ != nullptr) [[unlikely]]
      moment_->ended_ns = os::now_ns();
  }
  CollectiveTimer(const CollectiveTimer&) = delete;
  CollectiveTimer& operator=(const CollectiveTimer&) = delete;

 private:
  Moment* moment_ = nullptr;
};

}  // namespace hearth::profile
