// What lies in the memory file of `mpiexec --profile` and `--trace`. mpiexec makes the file and reads it when
// the job is over; each rank writes its own part, and nobody else's, with plain stores, so that a rank that
// is killed leaves what it had counted. All of it starts as zeros; what is never touched takes no memory.
// A rank that another library's launcher has started makes a file of its own part alone
// (HEARTH_PROFILE_FOLDER).
//
//   offset 0       FileHead                      written by whoever makes the file
//   parts_offset   one part per rank, part_bytes apart:
//
//     | RankHead | CallCounts[kCallsMax] | PeerCounts[ranks] | CommCounts[kCommsMax] | TraceEvent[...] |
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/layout.h"

namespace hearth::profile {

constexpr uint64_t kMagic = 0x6874726165485004;  // "Hearth", 'P', then the layout's version

/// Size classes: 0 bytes, 1, 2 to 3, 4 to 7, ... The last one takes all that is longer.
constexpr int kClasses = 40;
constexpr int class_of(uint64_t bytes) {
  const int bits = 64 - (bytes == 0 ? 64 : __builtin_clzll(bytes));
  return bits < kClasses ? bits : kClasses - 1;
}
/// The shortest length of a class.
constexpr uint64_t class_begin(int number) {
  return number == 0 ? 0 : uint64_t{1} << (number - 1);
}

/// Which way a message went; the order is that of p2p::Protocol.
constexpr int kWays = 5;
constexpr const char* kWayNames[kWays] = {"line", "lines", "cells", "arena", "single copy"};
/// Lengths of a message that fits one line of a ring are counted one by one: 0 to 48 bytes.
constexpr int kLineLengths = 49;

/// What a wait is for. A send waits for its receiver (late receiver), a receive for its sender (late sender).
enum class Wait : uint32_t { late_sender, late_receiver, request, collective, finalize, count_ };
constexpr int kWaits = static_cast<int>(Wait::count_);

constexpr int kCallsMax = 768;  // numbers of MPI functions
constexpr int kCommsMax =
    32;  // communicators in which a rank called collectives; further ones share the last
constexpr int kSitesMax = 32;
constexpr int kFrames = 4;

/// Of a rank whose part is a file of its own: what mpiexec would know.
struct PartFacts {
  shm::RankPlace place;
  uint32_t processors;  // of its machine, for all ranks there
  char host[64];
  char program[128];
};

struct FileHead {
  uint64_t magic;
  uint64_t file_bytes;
  uint64_t parts_offset;
  uint64_t part_bytes;
  uint64_t page_bytes;    // of the machine that wrote the file: each rank maps its own part
  uint64_t trace_events;  // of one rank; 0: no trace is wanted
  uint64_t begun_ns;      // os::now_ns() before the ranks started
  uint32_t rank_count;
  int32_t self;     // whose part alone this is; -1: all parts are here
  PartFacts facts;  // only with `self`
};

/// Calls of one MPI function. Of those with a count and a datatype the size class of each is known. MPI_Send,
/// MPI_Isend and MPI_Recv of short messages are not seen one by one: samples stand for what rings have
/// carried unseen (PeerCounts), in proportion.
constexpr int kLineClasses = class_of(48) + 1;
struct CallCounts {
  uint64_t calls_without_size;
  uint64_t bytes;
  uint64_t calls[kClasses];
  uint64_t samples[kLineClasses];  // of these calls, those that stand for unseen ones
  uint64_t drawn_for;              // of MPI_Irecv: calls that have the length of another one, drawn by chance
};

/// Messages of one protocol.
struct WayCounts {
  uint64_t messages[kClasses];
  uint64_t bytes;
};

/// What this rank did with one other rank, or with itself.
struct PeerCounts {
  uint64_t line_messages[kLineLengths];  // sent, by length, as far as they were seen
  uint64_t line_samples[kLineLengths];   // of these, those that stand for unseen ones
  uint64_t sent_unseen;                  // messages of one line; how many is exact
  uint64_t received_unseen;
  WayCounts sent[kWays];       // entry 0, one line, is only used for what is not in line_messages
  uint64_t waited_ns[kWaits];  // for that rank
  uint64_t waits[kWaits];
  // How messages to that rank go: written when the two first talk.
  uint64_t ring_bytes_max;
  uint64_t single_copy_bytes_min;
  uint64_t arena_bytes_min;
  uint32_t relation;     // topo::Relation
  uint32_t limits_told;  // 1: the three above are there
  uint32_t single_copy;  // what became of the attempt to read that rank's memory, a CopyAbility
  char method[12];       // by which it is read
};
enum class CopyAbility : uint32_t { untried = 0, works, refused };

/// A place in the program from which MPI was called when a wait took long.
struct Frame {
  uint64_t offset;   // in the module's file
  char module[112];  // path; its end, where it is longer
  char symbol[72];   // "" where the module does not export one
};
struct Site {
  uint64_t key;  // of the return addresses; 0: empty
  uint64_t waited_ns;
  uint64_t waits;
  int32_t peer;   // the one waited for last; negative: any
  uint32_t wait;  // Wait
  uint32_t frame_count;
  uint32_t reserved;
  Frame frames[kFrames];  // innermost first, the library's own left out
};

/// When one collective of a communicator began and ended here. Which ones are kept is the same on all ranks:
/// each of the first kTier, then each 16th of the next 16 * kTier, each 256th of the next, and so on.
struct Moment {
  uint64_t begun_ns;
  uint64_t ended_ns;  // 0: never
};
constexpr uint64_t kTier = 512;
constexpr int kTiers = 5;
constexpr uint64_t kMoments = kTier * kTiers;

struct CommCounts {
  uint32_t used;  // 1: the rest counts
  uint32_t context;
  int32_t leader;  // the process that is its rank 0: parts of a split have their context in common
  int32_t size;
  char name[48];
  uint64_t calls;  // blocking collectives
  uint64_t bytes;
  uint16_t kinds[kMoments];  // which MPI function: its number, plus 1
  Moment moments[kMoments];
};

/// One thing that happened, for --trace.
enum class EventKind : uint8_t { none, call, wait, sent, arrived, copied };
struct TraceEvent {
  uint64_t begun_ns;
  uint32_t lasted_ns;  // 2^32-1: that or longer; see `more`
  uint16_t call;       // of a call: its number
  EventKind kind;
  uint8_t what;  // of a wait: its Wait; of a message: the protocol
  int32_t peer;  // -1: none, -2: any
  int32_t tag;
  uint64_t more;  // of a message: its number between the two ranks; of calls: nanoseconds beyond lasted_ns
  uint64_t bytes;
  uint32_t thread;  // of the rank, counted in the order in which they came
  uint32_t reserved;
};
static_assert(sizeof(TraceEvent) == 48);

struct alignas(64) RankHead {
  uint64_t attached;  // 1 once the rank has found this file
  uint64_t machine;   // where it runs, or as if: HEARTH_PRETEND_MACHINES
  uint64_t begun_ns;  // MPI_Init was over
  uint64_t ended_ns;  // MPI_Finalize began; 0: it never did
  uint64_t alive_ns;  // the last time that the rank looked at the clock here

  uint64_t waited_ns[kWaits];
  uint64_t waits[kWaits];
  uint64_t longest_ns[kWaits];
  uint64_t waited_for_any_ns;

  // Copies of kTimedBytes or more are timed.
  uint64_t copies;
  uint64_t copied_bytes;
  uint64_t timed_copies;
  uint64_t timed_bytes;
  uint64_t timed_ns;

  uint64_t posted_unseen;  // of all PeerCounts::received_unseen: for posted receives
  uint64_t unexpected_messages;
  uint64_t unexpected_depth_max;
  uint64_t unexpected_bytes_max;
  uint64_t fallbacks;         // messages that one copy was offered for and that went through cells
  uint64_t memory_bytes_max;  // of the process, at MPI_Finalize
  uint64_t library_bytes;     // of requests and messages
  uint64_t comms_beyond;      // collectives counted in the last entry for want of room
  uint64_t sites_beyond;      // long waits without a site, for want of room
  uint64_t trace_written;     // events in the buffer
  uint64_t trace_dropped;     // that found no room

  Site sites[kSitesMax];
};

constexpr uint64_t kTimedBytes = 32 << 10;

}  // namespace hearth::profile
