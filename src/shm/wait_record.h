// Wait diagnostics of a rank: a record in its block of the segment that shows why a job does not progress
// (launch/snapshot.h). It stays readable after the rank is killed.
//
// Written by the rank under its library's lock, and only after it has waited for a while
// (p2p/wait_diagnostics.h): a message that arrives in time costs nothing here. Read by other processes, which
// accept it if `version` was even and equal before and after reading. A wait that ends only sets the
// kind of its entry to none.
//
//   counts | unexpected messages | posted receives | communicators named here | waits | polling
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::shm {

constexpr int kWaitsMax = 4;        // threads of one rank whose waits are shown
constexpr int kOperationsMax = 8;   // of one wait
constexpr int kMissingMax = 16;     // missing processes of one wait
constexpr int kCallersMax = 24;     // return addresses
constexpr int kQueuedMax = 8;       // of each queue
constexpr int kShownCommsMax = 8;   // communicators
constexpr int kMemberWords = 8;     // of 64 processes each
constexpr int kShownPeersMax = 16;  // processes of other jobs
constexpr int kCommNameBytes = 48;  // including the terminating 0
constexpr int kCollectiveNameBytes = 24;

/// The operation or call that is waited for. Messages of collectives have context ids of their own
/// (base/contexts.h).
enum class WaitKind : uint32_t {
  none = 0,
  send,
  receive,
  request,  // a generalized request, or several requests whose list is unknown
  probe,
  finalize,
  collective,
  polling,   // the program polls repeatedly without blocking in a call
  call,      // a call that `peer` must make: `collective` is its name
  progress,  // progress of `peer`, which executes RMA operations in any MPI call
  lock,  // a window's part: `peer` is the target, `bytes` the number of holders or 0, `missing` known holders
  file   // a system call on a file: `collective` says what, as in "write", `bytes` how much or 0
};

constexpr int32_t kNoRoot = -1;  // of a collective without a root, or unknown

/// An operation that is waited for.
struct AwaitedOperation {
  uint32_t kind;      // WaitKind
  int32_t peer;       // process, or MPI_ANY_SOURCE
  int32_t peer_rank;  // rank in the communicator; MPI_UNDEFINED if unknown
  int32_t tag;        // of a collective: its root in the communicator, or kNoRoot
  uint32_t context;
  uint32_t type;  // handle of a predefined datatype; 0: other types
  uint64_t bytes;
  char collective[kCollectiveNameBytes];  // "allreduce"; empty if unknown. For WaitKind::call and file, its
                                          // name
};

/// One thread's wait.
struct WaitEntry {
  uint32_t kind;             // WaitKind; none: no wait
  uint32_t thread;           // the system's thread id
  uint32_t any_suffices;     // 1: the wait ends with one of the operations; 0: with all of them
  uint32_t operation_count;  // including those that do not fit below
  uint64_t since_ns;         // os::now_ns() at its begin
  uint64_t beat_ns;  // last poll that found nothing, updated after a standstill; after the wait: its end
  uint32_t missing_count;  // processes behind this one in a collective, or holders of a lock; all of them
  uint32_t caller_count;
  int32_t missing[kMissingMax];
  uint64_t callers[kCallersMax];  // return addresses, from inside the library outward
  AwaitedOperation operations[kOperationsMax];
};

/// `window`: the internal communicator of a window, shown with the name of the window.
enum class CommKind : uint32_t { intra = 0, inter, window };

/// A communicator to which an operation or message here belongs.
struct ShownComm {
  uint32_t context;                // the first id of its block
  int32_t rank;                    // of this process
  int32_t size;                    // 0: the entry is empty
  uint32_t kind;                   // CommKind
  uint64_t members[kMemberWords];  // processes that may send to this one in it: bit p % 64 of word p / 64
  char name[kCommNameBytes];
};

/// A process of another job that an entry here refers to.
struct ShownPeer {
  int32_t peer;  // 0: the entry is empty (process 0 is of this job)
  int32_t rank;  // in the MPI_COMM_WORLD of its job
  uint32_t pid;  // 0: it has no number in this PID namespace
  uint32_t reserved;
};

/// An unexpected message, or a posted receive.
struct QueuedMessage {
  int32_t peer;
  int32_t tag;
  uint32_t context;
  uint32_t reserved;
  uint64_t bytes;
};

struct alignas(64) WaitRecord {
  uint32_t version;           // odd while the record is being written
  uint32_t threads_multiple;  // 1: the program uses MPI_THREAD_MULTIPLE
  uint32_t unexpected_count;  // like all counts here, includes messages that do not fit below
  uint32_t posted_count;
  uint32_t waits_left_out;  // waiting threads without an entry
  uint16_t next_comm;       // index of the entry that the next communicator replaces
  uint16_t next_peer;       // likewise for the next process of another job
  QueuedMessage unexpected[kQueuedMax];
  QueuedMessage posted[kQueuedMax];
  ShownComm comms[kShownCommsMax];
  ShownPeer peers[kShownPeersMax];
  WaitEntry waits[kWaitsMax];
  WaitEntry polling;
};

static_assert(sizeof(AwaitedOperation) == 56 && sizeof(ShownComm) == 128 && sizeof(QueuedMessage) == 24);
static_assert(sizeof(ShownPeer) == 16);
static_assert(sizeof(WaitEntry) % sizeof(uint64_t) == 0 && sizeof(WaitRecord) % 64 == 0);

}  // namespace hearth::shm
