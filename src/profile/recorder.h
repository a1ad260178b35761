// The rank's side of --profile and --trace: what happens in this process is counted in its part of the board.
// There is one recorder in a process that is profiled, and none in any other. Called by p2p, coll and abi
// under the library's lock, except where said.
//
// The shortest way of a message, from MPI_Send into the ring and from there to MPI_Recv, does not come by
// here at all: p2p/profiled.cpp says how its messages are counted all the same. The clock is read for copies
// of kTimedBytes or more only; waits use what the waiting loop has read anyway.
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

/// What the messages to a process go by, as far as sizes decide it.
struct Limits {
  uint64_t ring_bytes_max = 0;
  uint64_t single_copy_bytes_min = 0;
  uint64_t arena_bytes_min = 0;
};

/// A collective call: the number of its MPI function and its bytes.
struct CollectiveCall {
  int call = -1;  // none: another call that needs a collective
  uint64_t bytes = 0;
};
/// A communicator.
struct CommFacts {
  uint32_t context;
  PeerIndex leader;
  int size;
  std::string_view name;
};

class Recorder {
 public:
  /// Pre: the board is attached, and outlives the recorder. `machine`: the number of the one this rank is on.
  Recorder(const Board& board, PeerIndex self, int machine);

  // Life of the rank.
  void begin();
  void end(uint64_t pool_bytes);

  // Messages.
  PeerCounts* counts(PeerIndex peer) { return &part_.peers[peer]; }
  void tell_limits(PeerIndex peer, topo::Relation relation, const Limits& limits);
  void tell_method(PeerIndex peer, const char* method);
  /// A message has gone out by a protocol, given as its place in p2p::Protocol.
  /// `sampled`: others like it go unseen.
  void sent(PeerIndex to, int way, uint64_t bytes, int tag, bool sampled);
  /// What was announced as `way` goes through cells after all.
  void fell_back(PeerIndex to, int way, uint64_t bytes);
  void arrived(PeerIndex from, uint64_t bytes, int tag);
  /// One of those that are received mostly unseen.
  void received_sample(uint64_t bytes);
  /// So many of the messages that rings have carried unseen were for posted receives.
  void tell_posted(uint64_t messages) { head_.posted_unseen = messages; }
  void unexpected(size_t depth, uint64_t bytes);
  void expected(uint64_t bytes) { unexpected_bytes_ -= bytes; }
  void copied(PeerIndex peer, uint64_t bytes, uint64_t begun_ns, uint64_t ended_ns);

  // Waits.
  /// Of this kind and so long, for `peer` or anybody; `first` for the first piece of one wait.
  void waited(Wait wait, PeerIndex peer, uint64_t ns, bool first, int site);
  /// One that is over, for the trace.
  void wait_is_over(Wait wait, PeerIndex peer, uint64_t begun_ns, uint64_t ended_ns);
  /// Looks who called MPI: for a wait that lasts. -1: nothing could be noted.
  int note_site();

  // Collectives. All ranks of a communicator call the blocking ones in the same order.
  Moment* collective(const CommFacts& comm, const CollectiveCall& call);

  const RankHead& head() const { return head_; }

  // Trace.
  bool tracing() const { return part_.event_count > 0; }
  void called(int call, uint64_t begun_ns, uint64_t ended_ns);

 private:
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
  uint32_t threads_ = 0;  // that have been in an event
};

/// This process's; nullptr where nobody asked for a profile. Set before MPI is active.
inline Recorder* process_recorder = nullptr;

// Calls of MPI functions, counted by the entry points without the lock.
inline CallCounts* call_counts = nullptr;
/// The collective that this thread is in.
inline thread_local CollectiveCall collective_call;

/// Whether a trace is written too.
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

/// Messages of a pair of ranks, or posted receives, that are seen one by one: a test, or a short job, sees
/// exact figures. Of those that come later one in about so many is looked at.
constexpr uint32_t kSeenEach = 4096;
constexpr uint32_t kIntervalMean = 2048;
/// How many come before the next one that is looked at, plus 1. `chance` is the state of the draws.
inline uint32_t draw_interval(uint32_t& chance) {
  chance = chance * 1664525u + 1013904223u;
  return 1 + (chance >> 16) % (2 * kIntervalMean);
}

/// The call that is carried out on the way on which its messages can be seen, and that has not been counted
/// yet; -1: none, or one that its entry point counts. Under the lock; with several threads one call may be
/// taken for another now and then, since a thread that waits lets others in.
inline int frequent_call = -1;
/// The call that is carried out by way of others, which are not counted; -1: none.
inline int outer_call = -1;

/// Counts a call that nobody else has counted, unless it is a part of another.
inline void count_call_of(int call, uint64_t bytes) {
  if (call >= 0 && outer_call < 0) count_call(call, bytes);
}

/// Receives that are posted on the shortest way: one of a few, drawn by chance, stands for those before it.
struct PostDraw {
  uint32_t left = 1;
  uint32_t drawn = 1;
  uint64_t posts = 0;  // that have been drawn, or have had one drawn for them
  int call = -1;
};
inline PostDraw post_draw;
inline bool post_is_drawn() {
  return --post_draw.left == 0;
}
void count_drawn_post(int call, uint64_t bytes);

/// Sets the one of the two for a scope. One store each way, whether anything is counted or not.
class CallScope {
 public:
  CallScope(int& place, int call) : place_(place) { place_ = call; }
  ~CallScope() { place_ = -1; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  int& place_;
};

/// Counts the frequent call, once, unless it is a part of another.
inline void count_frequent_call(uint64_t bytes) {
  if (call_counts != nullptr) count_call_of(frequent_call, bytes);
  frequent_call = -1;
}

/// Times a copy that is worth it.
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
  /// It did not happen, or another way.
  void forget() { recorder_ = nullptr; }

 private:
  Recorder* recorder_;
  const PeerIndex peer_;
  const uint64_t bytes_;
  uint64_t begun_ns_ = 0;
};

/// Counts a blocking collective, and times it where its number says so. Takes an objects::Comm.
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
