// Layout of the memory file of `mpiexec --profile` and `--trace`. mpiexec creates the file and reads it after
// the job. Each rank writes only its own part, with plain stores, so that the counts of a killed rank
// survive. The file starts as zeros; pages that are never touched take no memory. A rank that another
// library's launcher started creates a file with its own part only (HEARTH_PROFILE_FOLDER).
//
//   offset 0       FileHead                      written by the creator of the file
//   parts_offset   one part per rank, part_bytes apart:
//
//     | RankHead | CallCounts[kCallsMax] | PeerCounts[ranks] | CommCounts[kCommsMax] | TraceEvent[...] |
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/layout.h"

namespace hearth::profile {

constexpr uint64_t kMagic = 0x6874726165485005;  // "Hearth", 'P', then the layout's version

/// Size classes: 0 bytes, 1, 2 to 3, 4 to 7, ... The last one has no upper bound.
constexpr int kClasses = 40;
constexpr int class_of(uint64_t bytes) {
  const int bits = 64 - (bytes == 0 ? 64 : __builtin_clzll(bytes));
  return bits < kClasses ? bits : kClasses - 1;
}
/// The shortest length of a class.
constexpr uint64_t class_begin(int number) {
  return number == 0 ? 0 : uint64_t{1} << (number - 1);
}

/// The protocol of a message, in the order of p2p::Protocol.
constexpr int kWays = 5;
constexpr const char* kWayNames[kWays] = {"inline", "eager", "bounce buffers", "arena", "single copy"};
/// Messages that fit one slot of a ring (0 to 48 bytes) are counted by exact length.
constexpr int kLineLengths = 49;

/// The reason for a wait. A send waits for its receiver (late receiver), a receive for its sender (late
/// sender).
enum class Wait : uint32_t { late_sender, late_receiver, request, collective, finalize, count_ };
constexpr int kWaits = static_cast<int>(Wait::count_);

constexpr int kCallsMax = 768;  // numbers of MPI functions
constexpr int kCommsMax = 32;   // communicators with collectives; comms_beyond counts further ones
constexpr int kSitesMax = 32;
constexpr int kFrames = 4;

/// Facts that mpiexec would know, for a rank whose part is a file of its own.
struct PartFacts {
  shm::RankPlace place;
  uint32_t processors;  // of its machine, for all ranks on it
  char host[64];
  char program[128];
};

struct FileHead {
  uint64_t magic;
  uint64_t file_bytes;
  uint64_t parts_offset;
  uint64_t part_bytes;
  uint64_t page_bytes;    // of the writing machine; parts are page-aligned, for mmap
  uint64_t trace_events;  // per rank; 0: no trace
  uint64_t begun_ns;      // os::now_ns() before the ranks started
  uint32_t rank_count;
  int32_t self;     // the rank whose part this is; -1: the file has all parts
  PartFacts facts;  // only with `self`
};

/// Calls of one MPI function. Calls with a count and a datatype are counted by size class. MPI_Send,
/// MPI_Isend and MPI_Recv of short messages bypass the counting on the fast path: samples represent the
/// uncounted messages of the rings (PeerCounts), in proportion.
constexpr int kLineClasses = class_of(48) + 1;
struct CallCounts {
  uint64_t calls_without_size;
  uint64_t bytes;
  uint64_t calls[kClasses];
  uint64_t samples[kLineClasses];  // calls above that were samples for uncounted ones
  uint64_t drawn_for;              // of MPI_Irecv: calls counted with the length of a randomly sampled one
};

/// Messages of one protocol.
struct WayCounts {
  uint64_t messages[kClasses];
  uint64_t bytes;
};

/// Traffic and waits of this rank with one other rank, or with itself.
struct PeerCounts {
  uint64_t line_messages[kLineLengths];  // sent and counted one by one, by length
  uint64_t line_samples[kLineLengths];   // messages above that were samples for uncounted ones
  uint64_t sent_unseen;                  // uncounted messages that fit one slot; the number is exact
  uint64_t received_unseen;
  WayCounts sent[kWays];       // entry 0 (inline) holds only messages that are not in line_messages
  uint64_t waited_ns[kWaits];  // time spent waiting for that rank
  uint64_t waits[kWaits];
  // Protocol thresholds for messages to that rank, written at the first contact.
  uint64_t ring_bytes_max;
  uint64_t single_copy_bytes_min;
  uint64_t arena_bytes_min;
  uint32_t relation;      // topo::Relation
  uint32_t limits_valid;  // 1: the three thresholds above are valid
  uint32_t single_copy;   // CopyAbility: result of the attempt to read that rank's memory
  char method[12];        // the single-copy method, if it works
};
enum class CopyAbility : uint32_t { untried = 0, works, refused };

/// The call site of a long wait in an MPI call.
struct Frame {
  uint64_t offset;   // offset in the module's file
  char module[112];  // path; only its end if it is too long
  char symbol[72];   // "" if the module exports no symbol for it
};
struct Site {
  uint64_t key;  // hash of the return addresses; 0: empty
  uint64_t waited_ns;
  uint64_t waits;
  int32_t peer;   // last awaited process; negative: any
  uint32_t wait;  // Wait
  uint32_t frame_count;
  uint32_t reserved;
  Frame frames[kFrames];  // innermost first, without frames of the library
};

/// Begin and end of one collective of a communicator on this rank. All ranks record the same collectives:
/// each of the first kTier, then each 16th of the next 16 * kTier, each 256th of the next, and so on.
struct Moment {
  uint64_t begun_ns;
  uint64_t ended_ns;  // 0: never
};
constexpr uint64_t kTier = 512;
constexpr int kTiers = 5;
constexpr uint64_t kMoments = kTier * kTiers;

struct CommCounts {
  uint32_t used;  // 1: the entry is valid
  uint32_t context;
  int32_t leader;  // process of rank 0: the communicators of one MPI_Comm_split share a context
  int32_t size;
  char name[48];
  uint64_t calls;  // blocking collectives
  uint64_t bytes;
  uint16_t kinds[kMoments];  // number of the MPI function, plus 1
  Moment moments[kMoments];
};

/// One event of --trace.
enum class EventKind : uint8_t { none, call, wait, sent, arrived, copied };
struct TraceEvent {
  uint64_t begun_ns;
  uint32_t lasted_ns;  // 2^32-1 or less; `more` has the rest
  uint16_t call;       // of a call: its number
  EventKind kind;
  uint8_t what;  // of a wait: its Wait; of a message: the protocol
  int32_t peer;  // -1: none, -2: any
  int32_t tag;
  uint64_t more;  // of a message: its number between the two ranks; else: duration beyond lasted_ns
  uint64_t bytes;
  uint32_t thread;  // of the rank, numbered by its first event
  uint32_t reserved;
};
static_assert(sizeof(TraceEvent) == 48);

struct alignas(64) RankHead {
  uint64_t attached;  // 1 once the rank has attached to this file
  uint64_t machine;   // machine or simulated node (HEARTH_SIMULATED_NODES)
  uint64_t begun_ns;  // end of MPI_Init
  uint64_t ended_ns;  // begin of MPI_Finalize; 0: it was not called
  uint64_t alive_ns;  // last time at which the rank wrote a timestamp here

  uint64_t waited_ns[kWaits];
  uint64_t waits[kWaits];
  uint64_t longest_ns[kWaits];
  uint64_t waited_for_any_ns;

  // Copies of at least kTimedBytes are timed.
  uint64_t copies;
  uint64_t copied_bytes;
  uint64_t timed_copies;
  uint64_t timed_bytes;
  uint64_t timed_ns;

  uint64_t posted_unseen;  // of all PeerCounts::received_unseen: matched posted receives
  uint64_t unexpected_messages;
  uint64_t unexpected_depth_max;
  uint64_t unexpected_bytes_max;
  uint64_t fallbacks;  // single-copy messages that fell back to bounce buffers
  // Data accesses of files that have ended. The time includes waits for other ranks in collective ones.
  uint64_t file_accesses;
  uint64_t file_read_bytes;
  uint64_t file_written_bytes;
  uint64_t file_ns;
  uint64_t memory_bytes_max;  // of the process, at MPI_Finalize
  uint64_t library_bytes;     // of requests and messages
  uint64_t comms_beyond;      // collectives not counted because CommCounts entries were used up
  uint64_t sites_beyond;      // long waits without a site because the sites were used up
  uint64_t trace_written;     // events in the buffer
  uint64_t trace_dropped;     // events dropped because the buffer was full

  Site sites[kSitesMax];
};

constexpr uint64_t kTimedBytes = 32 << 10;

}  // namespace hearth::profile
