// What the ranks of a job are doing, as one can see from outside: their wait pages in the segment, and what
// the system says about their processes. Plain data, so that what is concluded from it (launch/why.h) can be
// tested on made-up jobs. Taken by mpiexec of its own job and by the hearth tool of any.
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
  int peer = 0;       // process, MPI_ANY_SOURCE, or MPI_PROC_NULL where it is no message
  int peer_rank = 0;  // in the communicator, MPI_UNDEFINED where that is not known
  int tag = 0;
  uint32_t context = 0;
  uint64_t bytes = 0;
  const char* type = nullptr;   // of a predefined datatype
  std::string collective = {};  // "bcast"; "" where that is not known
};

struct SeenWait {
  shm::WaitKind kind = shm::WaitKind::none;
  int thread = 0;
  bool any_suffices = false;
  uint64_t since_ns = 0;
  uint64_t beat_ns = 0;        // when it last looked for messages; of a wait that is over, when it ended
  size_t operation_count = 0;  // with those that are not listed
  std::vector<SeenOperation> operations;
  size_t missing_count = 0;  // of a collective, likewise
  std::vector<int> missing;
  std::string function;  // "MPI_Recv"; "" where that is not known
  std::string site;      // "exchange+0x4c in solver", who called it; likewise
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

/// What the system says about a process.
struct SeenProcess {
  int pid = 0;
  bool ended = false;  // or a zombie
  char state = '?';    // as ps shows it
  int threads = 0;
  int acting_threads = 0;   // of a rank that waits: see launch/thread_states.h
  double processors = -1;   // that it used between two looks; below 0: not known
  std::string blocked_in;   // the kernel's function, "" where nothing is known
  std::string called_from;  // by what lies on its stack, as good a guess as that is; likewise
};

/// Bytes of messages a second since the look before; below 0: not known. What goes through rings counts by
/// the slots that it fills, and shows when its reader has emptied a quarter of the ring.
struct SeenTraffic {
  double in = -1;
  double out = -1;
};

struct SeenRank {
  shm::RankPhase phase = shm::RankPhase::outside;
  bool threads_multiple = false;
  SeenProcess process;
  SeenTraffic traffic;
  bool settled = true;         // it has not begun or ended MPI between two looks
  bool waits_briefly = false;  // in a wait that only one of two looks has seen
  std::vector<SeenWait> waits;
  size_t waits_left_out = 0;
  std::optional<SeenWait> polling;
  std::optional<SeenWait> last_wait;  // that lasted and is over; beat_ns: since when
  size_t unexpected_count = 0;
  size_t posted_count = 0;
  std::vector<SeenMessage> unexpected;
  std::vector<SeenMessage> posted;
  std::vector<SeenComm> comms;
};

struct Snapshot {
  uint64_t now_ns = 0;
  uint64_t before_ns = 0;  // the first of two looks
  std::vector<SeenRank> ranks;
};

/// Takes snapshots of one job. What one look cannot tell (who uses a processor, which waits go on) follows
/// from two of them.
class Observer {
 public:
  /// Pre: the segment outlives the observer.
  explicit Observer(const shm::Segment& segment);

  /// The process that was started for a rank, for as long as the rank has not said which one it is; and
  /// whether it has ended, whatever its number means now.
  void set_process(int rank, int pid, bool ended);
  /// Looks now. Processor time is that since the look before. With `stacks`: also at those of processes that
  /// sleep outside of MPI, as far as the system lets this one.
  void look(bool stacks = false);
  /// Keeps what all ranks show now, which takes no time; the next look is at that instead.
  void keep();
  /// Looks twice, a moment apart, and keeps of the waits those that were there both times. Ranks that have
  /// not looked around themselves meanwhile, because they lack a processor, are given some more time by who
  /// has it.
  const Snapshot& look_well(bool has_time);
  const Snapshot& latest() const { return latest_; }

 private:
  struct Times {
    uint64_t at_ns = 0;
    uint64_t used_ns = 0;
  };
  bool all_have_looked(uint64_t before_ns) const;
  void look_at_traffic(Snapshot& now);
  void look_at_process(SeenProcess& process, Times& times, uint64_t now_ns) const;

  const shm::Segment& segment_;
  SymbolTables tables_;
  struct Known {
    int pid = 0;
    bool ended = false;
  };
  std::vector<Known> processes_;
  std::vector<Times> times_;
  /// How much had been sent, by rank, and by receiver and sender what rings had carried.
  struct Carried {
    uint64_t at_ns = 0;
    std::vector<uint64_t> sent;
    std::vector<uint64_t> received;
    std::vector<uint32_t> slots;
  };
  Carried carried_;
  std::vector<shm::RankBlock> kept_;
  uint64_t kept_ns_ = 0;
  Snapshot latest_;
};

/// Whether the waiting rank has looked around, and found nothing, since that time.
bool has_looked(const SeenWait& wait, uint64_t before_ns);
/// A consistent copy of a rank's page; false where it is written all the time, or its writer died doing so.
bool copy_page(const shm::WaitPage& page, shm::WaitPage& copy);
/// Without names for addresses where `code` is nullptr.
SeenRank read_rank(const shm::RankBlock& block, const ProcessCode* code);

}  // namespace hearth::launch
