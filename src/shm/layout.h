// Everything that lies in the memory the ranks of one machine share. Offsets only, never pointers: each
// process maps the segment at an address of its own.
//
//   offset 0             JobHeader            one, written by whoever made the segment
//   blocks_offset        RankBlock + tables   one per rank, block_bytes apart
//   cells_offset         cell pools           one per rank, owned by the sender
//   areas_offset         control areas        taken one by one by new communicators (coll/control_area.h)
//   chunks_offset        wide parts, chunks   of each area and rank; memory when first used
//   rings_offset         rings                taken one by one when a pair first talks
//
// All of it starts as zeros, and zero is the idle state of every word.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/wait_page.h"

namespace hearth::shm {

constexpr uint64_t kMagic = 0x6874726165480a0c;  // "Hearth", then the layout's version in the last byte
constexpr size_t kLineBytes = 64;
constexpr int kAbortTextBytes = 1024;

/// What the creator of the segment decides once. Each process goes by a copy of its own (shm/segment.h).
struct JobGeometry {
  uint64_t magic;
  uint64_t segment_bytes;
  uint32_t rank_count;
  uint32_t ring_lines;  // slots of one ring, a power of two
  uint32_t cell_bytes;
  uint32_t cell_count;  // of one rank's pool
  uint64_t blocks_offset;
  uint64_t block_bytes;
  uint64_t cells_offset;
  uint64_t rings_offset;
  uint64_t ring_bytes;  // credit line and slots
  uint64_t areas_offset;
  uint64_t area_bytes;  // three tables and a ControlRow for each rank
  uint64_t chunks_offset;
  uint64_t chunk_bytes;  // of one rank in one area
  uint32_t area_count;   // at most kAreasMax
};

constexpr uint32_t kAreasMax = 64;

/// Where a control area is in its life, and who is at work on it. All in one word, so that whoever hears of
/// the death of that one can go on in its place.
///
///   bit  32        8          0
///        | turn    | process  | stage
struct AreaState {
  enum Stage : uint8_t {
    kFree,
    kTaking,    // by that process; nobody else knows of it
    kUsed,      // by the processes that are present
    kClearing,  // by that process, since all have left
  };

  uint64_t word;

  Stage stage() const { return static_cast<Stage>(word & 0xff); }
  int process() const { return static_cast<int>(word >> 8 & 0xff'ffff); }
  /// How often the area has been taken.
  uint32_t turn() const { return static_cast<uint32_t>(word >> 32); }
  /// Of the same turn.
  AreaState at(Stage stage, int process) const {
    return {word >> 32 << 32 | uint64_t{static_cast<uint32_t>(process)} << 8 | stage};
  }
  AreaState next_turn() const { return {((word >> 32) + 1) << 32}; }
};

/// How many ranks have died, and the one whose death is being counted. In one word, so that whoever finds it
/// half done completes it (shm/liveness.cpp).
///
///   bit  32            0
///        | 1 + rank     | count
struct DeathCount {
  uint64_t word;

  uint32_t count() const { return static_cast<uint32_t>(word); }
  /// -1: nobody's.
  int rank() const { return static_cast<int>(word >> 32) - 1; }
  DeathCount with(int rank) const { return {count() | uint64_t{static_cast<uint32_t>(rank + 1)} << 32}; }
  DeathCount next() const { return {uint64_t{count() + 1}}; }
};

struct alignas(kLineBytes) JobHeader : JobGeometry {
  // Told by the launcher before the ranks start.
  uint32_t usable_processors;  // of the whole job: affinity mask and control-group quota
  uint32_t launcher_pid;       // 0 for a singleton

  // Words that ranks change.
  alignas(kLineBytes) uint32_t next_context;  // fetch_add by the leader of each new communicator
  uint32_t rings_taken;                       // fetch_add by the sender of each new pair
  uint32_t fences_needed;                     // 1 once a rank could not register for membarrier
  uint32_t goes_on;  // 1 once a rank has acknowledged a death or repaired what it broke (shm/liveness.h)
  uint64_t deaths;   // DeathCount; every waiting loop looks at it
  uint64_t areas[kAreasMax];  // AreaState of each control area; compare-exchange

  // MPI_Abort: the first rank to move abort_claimed from 0 to 1 writes the rest, then abort_written.
  alignas(kLineBytes) uint32_t abort_claimed;
  uint32_t abort_written;
  int32_t abort_rank;
  int32_t abort_code;
  char abort_text[kAbortTextBytes];
};

/// How far a rank has come; written by the rank, read by the launcher.
enum class RankPhase : uint32_t { outside = 0, initialized = 1, finalized = 2 };

/// Where a rank is bound, as numbers of objects of the machine; -1 where it may be anywhere or nothing is
/// known. Two ranks share what has the same number. Written by the launcher before the rank starts.
struct RankPlace {
  int32_t package;
  int32_t numa;
  int32_t l3;
  int32_t l2;
  int32_t core;
  int32_t processor;
};

/// The system's numbers of memory nodes: those that are best for a rank, by what is wanted of memory
/// (topo/memory_kind.h), and those where what belongs to it lies. -1: wherever the system takes memory from.
/// Written like the place.
struct RankMemory {
  int16_t local;
  int16_t low_latency;
  int16_t high_bandwidth;
  int16_t large;
  int16_t rings;  // and its block: what others write for it to read
  int16_t cells;
  int16_t arena;
  int16_t reserved;
};

/// Processes that a system call lets into the memory of another one just now, as far as they are counted.
constexpr uint32_t kVisitorsMax = 12;

/// Where two processes share the copying of one message (single_copy/cooperative.h). Belongs to the receiver.
struct alignas(kLineBytes) CopyDesk {
  uint64_t claim;   // which message, and how much of it has been taken
  uint64_t copied;  // bytes that the sender has copied
  /// Who visits the memory of this process (p2p/visit.h): 1 + the number of a process, 0 where nobody does.
  uint32_t visitors[kVisitorsMax];
};

/// Bytes of messages that went past the rings: those sent when they began, those received when they were
/// whole. Written by the rank for who looks from outside; rings show by their credits how much goes through
/// them.
struct alignas(kLineBytes) LongTraffic {
  uint64_t sent;
  uint64_t received;
};

/// How a process ended whose peers count on it in vain.
enum class DeathCause : uint32_t { none = 0, exit_code, no_finalize, signal, out_of_memory };

/// What a process says in one agreement among the processes of a communicator (coll/agreement.h). Only it
/// writes here; what it has decided outlives it.
struct alignas(kLineBytes) AgreementEntry {
  uint32_t owner;        // 1 + the communicator's context; 0: nobody's
  uint32_t contributed;  // the number of the agreement that the next three words are of
  uint32_t flags;
  uint32_t acknowledged;  // deaths, the first so many
  uint32_t decided;       // the number of the agreement that the rest is the outcome of
  uint32_t decided_flags;
  uint32_t decided_acknowledged;
  uint32_t deaths;   // that count, the first so many
  uint32_t context;  // of a new communicator
  int32_t area;      // likewise
  uint32_t passed;   // the last agreement that is over in this process
};
/// Communicators of one process with agreements that others may still want to know of.
constexpr int kAgreementsMax = 16;

/// The part of a rank's block that has a fixed size. Behind it lie, for rank_count ranks R:
/// uint64_t knocks[(R + 63) / 64], then uint32_t rings[R], then uint32_t cell_marks[cell_count][16].
struct alignas(kLineBytes) RankBlock {
  // Read by every sender after each message, written only around a sleep: stays shared in their caches.
  alignas(kLineBytes) uint32_t asleep;  // futex word: 1 while the rank sleeps or is about to

  // Written once at start and at finalize.
  alignas(kLineBytes) uint32_t phase;  // RankPhase
  uint32_t pid;
  uint64_t pid_numbering;  // os::process_numbering(): who else may use that number
  uint64_t probe_address;  // a word in the rank's own memory, by which a peer finds out
  uint64_t probe_word;     // whether it can read there (src/single_copy)
  int64_t xpmem_segment;   // by which a peer may attach the rank's memory; 0: it has published none
  RankPlace place;
  RankMemory memory;

  // Written once the process is gone (shm/liveness.h), `dead` last. Deaths are numbered from 1.
  uint32_t death_cause;  // DeathCause
  int32_t death_code;    // exit code or signal
  uint32_t dead;         // the number of this death; 0: the process lives
  /// Written by the rank: 1 once its program has said that errors of MPI calls are to be returned to it.
  uint32_t returns_errors;

  CopyDesk desk;
  LongTraffic traffic;
  WaitPage waiting;
  AgreementEntry agreements[kAgreementsMax];
};

// Where the processes of a communicator meet in collectives, for rank_count ranks R:
// uint64_t used[(R + 63) / 64], present[(R + 63) / 64] and counted[(R + 63) / 64], then, from the next line
// on, ControlRow rows[R]: by process, not by rank in the communicator, so that the parts of a split have the
// area together. A bit of `present` says that the process may still use the area, one of `counted` that it
// could when the area was taken.

/// What one process says in one small collective. The word is stored last, and releases the rest.
struct alignas(kLineBytes) ControlSlot {
  uint64_t word;
  std::byte payload[4 * kLineBytes - sizeof(uint64_t)];
};
constexpr int64_t kSlotPayloadBytes = sizeof(ControlSlot::payload);
/// A power of two.
constexpr uint32_t kControlSlots = 8;
/// What does not fit a slot's payload lies in the slot's wide part, in front of the chunks of that process:
/// slots are close together, and pages of wide parts are taken when they are used. Behind each is a gap,
/// since a reader's processor fetches ahead.
constexpr int64_t kWidePayloadBytes = 8192;
constexpr uint64_t kWidePartBytes = kWidePayloadBytes + 1024;
constexpr uint64_t kWidePartsBytes = kControlSlots * kWidePartBytes;
constexpr int kChunkWords = kLineBytes / sizeof(uint64_t);

/// The words of one process in one area. Nobody else writes here, but for whoever clears an area that all
/// have left.
struct alignas(kLineBytes) ControlRow {
  ControlSlot slots[kControlSlots];  // used in turn
  /// Every small collective up to this number is over in this process: nothing of it is read here any more.
  uint32_t done;
  // Of collectives that go through chunks: how far the process has filled its own, and read those of others.
  alignas(kLineBytes) uint64_t produced[kChunkWords];
  alignas(kLineBytes) uint64_t consumed[kChunkWords];
};

constexpr size_t kSharedHoldWords = 8;  // of 64 ranks each

/// Words of one process's part of a window of one-sided communication (src/rma). In its own window of the
/// arena, not in the segment: there are as many as the program makes windows.
struct alignas(kLineBytes) WindowBoard {
  /// The lock of the part and its holders: src/rma/part_lock.h.
  uint64_t lock;
  /// Number of processes that wait for it.
  uint32_t waiting;
  /// One more than the number in the job of the process that is combining data in the part; 0: nobody.
  alignas(kLineBytes) uint32_t combining;
  /// Parts that the process of this board holds a shared lock of, a bit for each rank of the window. Only
  /// that process writes here; waiters read it to find the holders.
  alignas(kLineBytes) uint64_t shared[kSharedHoldWords];
};

static_assert(sizeof(JobHeader) % kLineBytes == 0 && alignof(JobHeader) == kLineBytes);
static_assert(sizeof(CopyDesk) == kLineBytes && sizeof(AgreementEntry) == kLineBytes);
static_assert(sizeof(RankBlock) % kLineBytes == 0);
static_assert(sizeof(WindowBoard) == 3 * kLineBytes);
static_assert(kWidePartsBytes % 4096 == 0);
static_assert(sizeof(ControlSlot) == 4 * kLineBytes);
static_assert(sizeof(ControlRow) == (4 * kControlSlots + 3) * kLineBytes);

}  // namespace hearth::shm
