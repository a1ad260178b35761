// What the ranks of a job are doing, observed from outside: their wait diagnostics in the segment, and what
// the system reports about their processes. Plain data, so that the analysis (launch/why.h) can be tested
// with made-up jobs. mpiexec observes its own job, the hearth tool any job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/symbols.h"
#include "shm/segment.h"

namespace hearth::launch {

struct SeenOperation {
  shm::WaitKind kind = shm::WaitKind::none;
  int peer = 0;       // process, MPI_ANY_SOURCE, or MPI_PROC_NULL if it is no message
  int peer_rank = 0;  // in the communicator; MPI_UNDEFINED if unknown
  int tag = 0;
  uint32_t context = 0;
  uint64_t bytes = 0;
  const char* type = nullptr;   // of a predefined datatype
  std::string collective = {};  // "bcast"; "" if unknown
};

struct SeenWait {
  shm::WaitKind kind = shm::WaitKind::none;
  int thread = 0;
  bool any_suffices = false;
  uint64_t since_ns = 0;
  uint64_t beat_ns = 0;        // last time it polled; of a completed wait: its end
  size_t operation_count = 0;  // includes operations that are not listed
  std::vector<SeenOperation> operations;
  size_t missing_count = 0;  // of a collective; includes ranks that are not listed
  std::vector<int> missing;
  std::string function;  // "MPI_Recv"; "" if unknown
  std::string site;      // "exchange+0x4c in solver", the caller; "" if unknown
};

struct SeenMessage {
  int peer = 0;
  int tag = 0;
  uint32_t context = 0;
  uint64_t bytes = 0;
};

struct SeenComm {
  uint32_t context = 0;
  int size = 0;
  shm::CommKind kind = shm::CommKind::intra;
  std::string name;
  std::vector<int> members;  // processes that may send to this one in it
};

/// A process of another job, to which MPI_Comm_spawn or MPI_Comm_connect has connected the rank.
struct SeenForeign {
  int peer = 0;  // its number in this rank's operations, messages and lists
  int rank = 0;  // in the MPI_COMM_WORLD of its job
  int pid = 0;   // 0: it has no number in this PID namespace
};

/// What the system reports about a process.
struct SeenProcess {
  int pid = 0;
  bool ended = false;  // or a zombie
  char state = '?';    // as ps shows it
  int threads = 0;
  int acting_threads = 0;   // of a waiting rank: see launch/thread_states.h
  double processors = -1;   // used between two samples; below 0: unknown
  std::string blocked_in;   // the kernel's function; "" if unknown
  std::string called_from;  // guessed from its stack (launch/stack_guess.h); "" if unknown
};

/// Bytes of messages per second since the previous sample; below 0: unknown. Traffic through rings is counted
/// in filled slots. It becomes visible when the reader has emptied a quarter of the ring.
struct SeenTraffic {
  double in = -1;
  double out = -1;
  double read = -1;  // from files
  double written = -1;
};

struct SeenRank {
  shm::RankPhase phase = shm::RankPhase::outside;
  bool threads_multiple = false;
  SeenProcess process;
  SeenTraffic traffic;
  bool settled = true;         // it has not entered or left MPI between two samples
  bool waits_briefly = false;  // in a wait that is in only one of two samples
  std::vector<SeenWait> waits;
  size_t waits_left_out = 0;
  std::optional<SeenWait> polling;
  std::optional<SeenWait> last_wait;  // last long wait, now completed; beat_ns: its end
  size_t unexpected_count = 0;
  size_t posted_count = 0;
  std::vector<SeenMessage> unexpected;
  std::vector<SeenMessage> posted;
  std::vector<SeenComm> comms;
  std::vector<SeenForeign> foreign;
};

struct Snapshot {
  uint64_t now_ns = 0;
  uint64_t before_ns = 0;  // time of the first of two samples
  std::vector<SeenRank> ranks;
};

/// Takes snapshots of one job. Processor usage and lasting waits follow from the comparison of two samples.
class Observer {
 public:
  /// Pre: the segment outlives the observer.
  explicit Observer(const shm::Segment& segment);

  /// The process that was started for a rank, used until the rank publishes its own pid; and whether it has
  /// ended, because the pid may mean another process by now.
  void set_process(int rank, int pid, bool ended);
  /// Samples all ranks. Processor time is that since the previous sample. With `stacks`, also samples the
  /// stacks of processes that sleep outside MPI, as far as the system permits it.
  void sample(bool stacks = false);
  /// Copies the published state of all ranks, which is fast; the next sample is taken from the copy.
  void keep();
  /// Samples twice, a moment apart, and keeps only the waits that are in both samples. Ranks that have not
  /// polled in between, because they lack a processor, are given more time if `has_time`.
  const Snapshot& sample_twice(bool has_time);
  const Snapshot& latest() const { return latest_; }

 private:
  struct Times {
    uint64_t at_ns = 0;
    uint64_t used_ns = 0;
  };
  bool all_have_polled(uint64_t before_ns) const;
  void sample_traffic(Snapshot& now);
  void sample_process(SeenProcess& process, Times& times, uint64_t now_ns) const;

  const shm::Segment& segment_;
  SymbolTables tables_;
  struct Known {
    int pid = 0;
    bool ended = false;
  };
  std::vector<Known> processes_;
  std::vector<Times> times_;
  /// Bytes sent and received by each rank, and slots carried by each ring, by receiver and sender.
  struct Carried {
    uint64_t at_ns = 0;
    std::vector<uint64_t> sent;
    std::vector<uint64_t> received;
    std::vector<uint64_t> read;
    std::vector<uint64_t> written;
    std::vector<uint32_t> slots;
  };
  Carried carried_;
  std::vector<shm::RankBlock> kept_;
  uint64_t kept_ns_ = 0;
  Snapshot latest_;
};

/// Whether the waiting rank has polled without success since that time.
bool has_polled(const SeenWait& wait, uint64_t before_ns);
/// A consistent copy of a rank's wait diagnostics; false if they are written all the time, or if the writer
/// died while writing.
bool copy_record(const shm::WaitRecord& record, shm::WaitRecord& copy);
/// Addresses have no names if `code` is nullptr.
SeenRank read_rank(const shm::RankBlock& block, const ProcessCode* code);

}  // namespace hearth::launch
