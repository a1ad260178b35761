// Connections to processes of other jobs (MPI 5.0 chapter 11). Each is a bridge: a segment of its own, in
// which every process of the two groups that were connected has a block and rings. docs/design/spawn.md.
//
// A process has one name, (job, rank), and one PeerIndex, even if several bridges connect it. The processes
// of the own job come first; processes of other jobs get the next free indexes, and keep them until the last
// bridge to them is gone.
//
// One object per process, in abi/runtime.h. Under the library's lock. The segments are shared with the other
// members of each bridge; everything else is private.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/job_files.h"
#include "base/contexts.h"
#include "base/os_io.h"
#include "base/peer_index.h"
#include "base/status.h"
#include "shm/node.h"
#include "shm/segment.h"
#include "transport/shm_transport.h"

namespace hearth::abi {

/// The name of a process, equal in all processes that know it.
struct ProcessName {
  uint64_t job;   // random
  uint64_t rank;  // in the MPI_COMM_WORLD of that job
  auto operator<=>(const ProcessName&) const = default;
};

struct Bridge {
  uint32_t number;  // of the connection, the same in all members: base/contexts.h
  shm::Segment segment;
  std::optional<shm::Node> node;
  transport::ShmTransport* transport = nullptr;
  std::vector<PeerIndex> peers;  // by place in the segment, including this process
  bool being_made = true;        // its first communicator does not exist yet
};

class Bridges {
 public:
  // Names.
  ProcessName name_of(PeerIndex peer) const;
  std::vector<ProcessName> names_of(std::span<const PeerIndex> peers) const;
  /// The process of that name; MPI_PROC_NULL if this process does not know it.
  PeerIndex find(const ProcessName& name) const;
  /// The same order in all processes.
  bool comes_before(PeerIndex one, PeerIndex other) const { return name_of(one) < name_of(other); }
  static bool is_foreign(PeerIndex peer);
  static bool has_foreign(std::span<const PeerIndex> peers);

  // Connections.
  bool empty() const { return bridges_.empty(); }
  /// A number that no connection of this process has; random, so that concurrent connections of different
  /// processes rarely choose the same one.
  uint32_t propose_number() const;
  /// The files of the jobs of these processes, as far as this process has them. Valid until it leaves them.
  std::vector<JobFileNumbers> files_of(std::span<const ProcessName> names);
  /// The segment for a bridge between processes, to be attached by all of them. `ring_lines`: the length of
  /// rings that all members can use.
  static Status make_segment(size_t processes, uint32_t ring_lines, shm::Segment& segment);
  /// Attaches to a bridge. `names`: its processes by place, including this one. `taken` is set, without an
  /// error, if this process uses the number already. `files`: those of the jobs of the processes. Every
  /// member has to attach before any member sends.
  Status attach(shm::Segment segment, uint32_t number, const std::vector<ProcessName>& names,
                std::vector<JobFiles> files, bool& taken, Bridge*& bridge);
  /// Leaves a bridge that no communicator of this process has used. To members that use it, because they have
  /// not received the failure, this process counts as dead.
  void detach(Bridge& bridge);
  /// Leaves all bridges that no communicator needs any more. With `wait`, first waits until no packets to
  /// their processes are queued; otherwise a bridge with queued packets stays until the next call.
  void leave_unused(bool wait);
  /// Whether a bridge of this process has this number.
  bool has_number(uint32_t number) const;

  /// A context id for these processes, one of which at least is of another job; 0 if no bridge connects all
  /// of them or its ids are used up.
  uint32_t new_context(std::span<const PeerIndex> members) const;
  /// Whether one segment connects all these processes.
  bool connects(std::span<const PeerIndex> members) const;
  /// The block of a process of another job in the bridge by which it is reached.
  const shm::RankBlock& block_of(PeerIndex peer) const;

  // Ends.
  /// Detects processes of other jobs that have ended without leaving. Called repeatedly by calls that wait
  /// long; checks at most every 100 ms.
  void check_liveness();
  /// MPI_Finalize: announces that this process leaves all bridges, and waits until all processes that it is
  /// connected to have left, finalized or ended.
  void finalize();

 private:
  const Bridge* bridge_with(std::span<const PeerIndex> members) const;
  Status know(const ProcessName& name, PeerIndex& peer);
  bool is_needed(const Bridge& bridge) const;
  bool is_quiet(const Bridge& bridge) const;
  void leave(std::list<Bridge>::iterator bridge);
  void remove(std::list<Bridge>::iterator bridge);
  void forget(PeerIndex peer);
  void reach_over(const Bridge& bridge, PeerIndex peer);
  void note_death(const Bridge& bridge, PeerIndex peer);

  JobMemories memories_;
  std::list<Bridge> bridges_;  // at stable addresses
  // By PeerIndex less the size of the job: the bridge over which the process is reached.
  std::vector<const Bridge*> over_;
  std::vector<std::optional<ProcessName>> others_;  // the same index; none: free
  uint64_t checked_ns_ = 0;
  std::vector<PeerIndex> suspects_;  // gone at an earlier check
};

}  // namespace hearth::abi
