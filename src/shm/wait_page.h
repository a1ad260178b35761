// What a rank shows of its waiting: a page in its block of the segment, for whoever asks why a job stands
// still (launch/snapshot.h). It outlives a killed rank.
//
// Written by the rank under its library's lock, and only when it has waited for a while (p2p/wait_note.h): a
// message that comes in time costs nothing here. Read by other processes, which take the page as it is when
// `version` was even and the same before and after; a wait that ends only sets its entry's kind to none.
//
//   counts | unexpected messages | posted receives | communicators named here | waits | polling
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::shm {

constexpr int kWaitsMax = 4;        // threads of one rank that are seen waiting
constexpr int kOperationsMax = 8;   // of one wait
constexpr int kMissingMax = 16;     // processes of one wait
constexpr int kCallersMax = 24;     // return addresses
constexpr int kQueuedMax = 8;       // of either queue
constexpr int kShownCommsMax = 8;   // communicators
constexpr int kMemberWords = 8;     // 64 processes each
constexpr int kCommNameBytes = 48;  // the closing 0 included
constexpr int kCollectiveNameBytes = 24;

/// What is waited for, or in which kind of call. Messages of collectives travel in contexts of their own
/// (base/contexts.h).
enum class WaitKind : uint32_t {
  none = 0,
  send,
  receive,
  request,  // of the user's own making, or several of which no list is known
  probe,
  finalize,
  collective,
  polling,   // looks again and again, without waiting in a call
  call,      // that `peer` has to make: `collective` names it
  progress,  // of `peer`, which carries out one-sided operations in any call of MPI
  lock  // of a window's part: `peer` is the target, `bytes` the number of holders or 0, `missing` the known
        // ones
};

constexpr int32_t kNoRoot = -1;  // of a collective without one, or where it is not known

/// An operation that is waited for.
struct AwaitedOperation {
  uint32_t kind;      // WaitKind
  int32_t peer;       // process, or MPI_ANY_SOURCE
  int32_t peer_rank;  // the same as the communicator numbers it; MPI_UNDEFINED where that is not known
  int32_t tag;        // of a collective: its root, as the communicator numbers it, or kNoRoot
  uint32_t context;
  uint32_t type;  // handle of a predefined datatype; 0: another
  uint64_t bytes;
  char collective[kCollectiveNameBytes];  // "allreduce"; empty where that is not known. The name of a call
};

/// One thread's wait.
struct WaitEntry {
  uint32_t kind;             // WaitKind; none: no wait
  uint32_t thread;           // the system's number
  uint32_t any_suffices;     // 1: it is over with one of the operations; 0: with all
  uint32_t operation_count;  // with those that find no place below
  uint64_t since_ns;         // os::now_ns() when it began
  uint64_t beat_ns;  // when it last looked in vain after a standstill; of a wait that is over: when it ended
  uint32_t missing_count;  // of a collective: processes that have not come as far as this one; likewise. Of a
                           // lock: holders
  uint32_t caller_count;
  int32_t missing[kMissingMax];
  uint64_t callers[kCallersMax];  // where the calls return to, from inside the library outward
  AwaitedOperation operations[kOperationsMax];
};

/// The own communicator of a window has the window's name, in words.
enum class CommKind : uint32_t { intra = 0, inter, window };

/// A communicator that an operation or message here belongs to.
struct ShownComm {
  uint32_t context;                // the first number of its block
  int32_t rank;                    // of this process in it
  int32_t size;                    // 0: no entry
  uint32_t kind;                   // CommKind
  uint64_t members[kMemberWords];  // processes that may send to this one in it: bit p % 64 of word p / 64
  char name[kCommNameBytes];
};

/// An unexpected message, or a posted receive.
struct QueuedMessage {
  int32_t peer;
  int32_t tag;
  uint32_t context;
  uint32_t reserved;
  uint64_t bytes;
};

struct alignas(64) WaitPage {
  uint32_t version;           // odd while the page is written
  uint32_t threads_multiple;  // 1: any thread of the program may call MPI
  uint32_t unexpected_count;  // with those that find no place below, as are all counts here
  uint32_t posted_count;
  uint32_t waits_left_out;  // threads that wait beyond the entries
  uint32_t next_comm;       // whose place the next communicator takes
  QueuedMessage unexpected[kQueuedMax];
  QueuedMessage posted[kQueuedMax];
  ShownComm comms[kShownCommsMax];
  WaitEntry waits[kWaitsMax];
  WaitEntry polling;
};

static_assert(sizeof(AwaitedOperation) == 56 && sizeof(ShownComm) == 128 && sizeof(QueuedMessage) == 24);
static_assert(sizeof(WaitEntry) % sizeof(uint64_t) == 0 && sizeof(WaitPage) % 64 == 0);

}  // namespace hearth::shm
