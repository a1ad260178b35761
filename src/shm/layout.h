// Layout of the memory that the ranks of one machine share. It contains offsets, never pointers, because each
// process maps the segment at its own address.
//
//   offset 0             JobHeader            one, written by the creator of the segment
//   blocks_offset        RankBlock + tables   one per rank, block_bytes apart
//   buffers_offset       bounce buffers       one pool per rank, owned by the sender
//   regions_offset       collective regions   taken one by one for communicators (coll/collective_region.h)
//   pipelines_offset     overflow buffers,    one set per region and rank, allocated at first use
//                        pipeline buffers
//   rings_offset         rings                taken one by one when a pair first communicates
//
// All of it starts as zeros, and zero is the idle state of every word.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/wait_record.h"

namespace hearth::shm {

constexpr uint64_t kMagic = 0x6874726165480a10;  // "Hearth", then the version of the layout in the last byte
constexpr size_t kLineBytes = 64;
constexpr int kAbortTextBytes = 1024;

/// Constants of the segment, set by its creator. Each process uses a private copy (shm/segment.h).
struct JobGeometry {
  uint64_t magic;
  uint64_t segment_bytes;
  uint32_t rank_count;
  uint32_t ring_lines;  // slots of one ring, a power of two
  uint32_t buffer_bytes;
  uint32_t buffer_count;  // in one rank's pool
  uint64_t blocks_offset;
  uint64_t block_bytes;
  uint64_t buffers_offset;
  uint64_t rings_offset;
  uint64_t ring_bytes;  // credit line and slots
  uint64_t regions_offset;
  uint64_t region_bytes;  // three bitmaps, and a RankSlots for each rank
  uint64_t pipelines_offset;
  uint64_t pipeline_bytes;  // pipeline buffers of one rank in one region
  uint32_t region_count;    // at most kRegionsMax
  uint32_t is_bridge;       // 1: connects processes of several jobs (abi/bridges.h)
};

constexpr uint32_t kRegionsMax = 64;

/// The state of a collective region and the process that is changing it, in one word: if that process dies,
/// another one can continue in its place.
///
///   bit  32           8          0
///        | generation | process  | stage
struct RegionState {
  enum Stage : uint8_t {
    kFree,
    kTaking,    // by that process; no other process knows of it
    kUsed,      // by the processes that are present
    kClearing,  // by that process, after all have left
  };

  uint64_t word;

  Stage stage() const { return static_cast<Stage>(word & 0xff); }
  int process() const { return static_cast<int>(word >> 8 & 0xff'ffff); }
  /// How often the region has been taken.
  uint32_t generation() const { return static_cast<uint32_t>(word >> 32); }
  /// The same generation in another stage.
  RegionState at(Stage stage, int process) const {
    return {word >> 32 << 32 | uint64_t{static_cast<uint32_t>(process)} << 8 | stage};
  }
  RegionState next_generation() const { return {((word >> 32) + 1) << 32}; }
};

/// The number of dead ranks, and the rank whose death is being counted. One word, so that any process that
/// reads an incomplete update can complete it (shm/liveness.cpp).
///
///   bit  32            0
///        | 1 + rank     | count
struct DeathCount {
  uint64_t word;

  uint32_t count() const { return static_cast<uint32_t>(word); }
  /// -1: no death is being counted.
  int rank() const { return static_cast<int>(word >> 32) - 1; }
  DeathCount with(int rank) const { return {count() | uint64_t{static_cast<uint32_t>(rank + 1)} << 32}; }
  DeathCount next() const { return {uint64_t{count() + 1}}; }
};

struct alignas(kLineBytes) JobHeader : JobGeometry {
  // Set by the launcher before the ranks start.
  uint32_t usable_processors;  // of the whole job: affinity mask and control-group quota
  uint32_t launcher_pid;       // 0 for a singleton
  uint64_t job_id;             // random; names the job to jobs that it is connected to

  // Words that ranks change.
  alignas(kLineBytes) uint32_t next_context;  // fetch_add by the leader of each new communicator
  uint32_t rings_taken;                       // fetch_add by the sender of each new pair
  uint32_t fences_needed;                     // 1 once a rank has failed to register for membarrier
  uint32_t goes_on;  // 1 once a rank has acknowledged a death or recovered from it (shm/liveness.h)
  uint64_t deaths;   // DeathCount; polled by every wait loop
  uint64_t regions[kRegionsMax];  // RegionState of each collective region; compare-exchange

  // MPI_Abort: the first rank that changes abort_claimed from 0 to 1 writes the other fields, abort_written
  // last.
  alignas(kLineBytes) uint32_t abort_claimed;
  uint32_t abort_written;
  int32_t abort_rank;
  int32_t abort_code;
  char abort_text[kAbortTextBytes];
};

/// State of a rank; written by the rank, read by the launcher.
enum class RankPhase : uint32_t { outside = 0, initialized = 1, finalized = 2 };

/// Where a rank is bound, as numbers of hardware objects of the machine; -1: not bound at this level, or
/// unknown. Two ranks with the same number share the object. Written by the launcher before the rank starts.
struct RankPlace {
  int32_t package;
  int32_t numa;
  int32_t l3;
  int32_t l2;
  int32_t core;
  int32_t processor;
};

/// The operating system's numbers of memory nodes: the nearest node of each kind (topo/memory_kind.h), and
/// the nodes of the rank's own memory. -1: the system's default. Written by the launcher before the rank
/// starts.
struct RankMemory {
  int16_t local;
  int16_t low_latency;
  int16_t high_bandwidth;
  int16_t large;
  int16_t rings;  // and its block: memory that other ranks write and this rank reads
  int16_t buffers;
  int16_t arena;
  int16_t reserved;
};

/// Entries for concurrent CMA readers and writers of one process; further ones are not counted.
constexpr uint32_t kCmaAccessesMax = 12;

/// Control block of cooperative copies (single_copy/cooperative.h): two processes share the copying of one
/// message. Belongs to the receiver.
struct alignas(kLineBytes) CopyControlBlock {
  uint64_t claim;   // the message, and how much of it has been taken
  uint64_t copied;  // bytes that the sender has copied
  /// The processes that access the memory of this process by CMA (p2p/cma_access.h): 1 + the process, 0 in a
  /// free entry.
  uint32_t cma_accesses[kCmaAccessesMax];
};

/// Bytes of messages that bypassed the rings: sent ones counted when they begin, received ones when they
/// complete. Written by the rank for tools; the traffic through rings follows from their credits. Then bytes
/// that went from and to files, counted by any thread of the rank.
struct alignas(kLineBytes) LongTraffic {
  uint64_t sent;
  uint64_t received;
  uint64_t file_read;
  uint64_t file_written;
};

/// How a process ended while its peers still needed it.
enum class DeathCause : uint32_t { none = 0, exit_code, no_finalize, signal, out_of_memory };

/// The entry of a process in an agreement among the processes of a communicator (coll/agreement.h). Only that
/// process writes it; the decision stays readable after its death.
struct alignas(kLineBytes) AgreementEntry {
  uint32_t owner;        // 1 + the communicator's context id; 0: free
  uint32_t contributed;  // number of the agreement to which the next three words belong
  uint32_t flags;
  uint32_t acknowledged;  // deaths up to this number are acknowledged
  uint32_t decided;       // number of the agreement to which the remaining words, its outcome, belong
  uint32_t decided_flags;
  uint32_t decided_acknowledged;
  uint32_t deaths;   // the outcome includes the deaths up to this number
  uint32_t context;  // of a new communicator
  int32_t region;    // collective region of a new communicator
  uint32_t passed;   // the last agreement that is complete in this process
};
/// Communicators of one process with agreements that other processes may still need to read.
constexpr int kAgreementsMax = 16;

/// The fixed part of a rank's block. After it, for rank_count ranks R: the connect bitmap, uint64_t[(R + 63)
/// / 64]; the ring numbers, uint32_t[R]; the buffer marks, uint32_t[buffer_count][16].
struct alignas(kLineBytes) RankBlock {
  // Read by every sender after each message, written only around a sleep, so the line stays shared in their
  // caches.
  alignas(kLineBytes) uint32_t asleep;  // futex word: 1 while the rank sleeps or is about to

  // Written at start and at finalize.
  alignas(kLineBytes) uint32_t phase;  // RankPhase
  uint32_t pid;
  uint64_t pid_numbering;  // os::process_numbering(): the namespace of `pid`
  uint64_t probe_address;  // address of a word in the rank's own memory, which a peer reads by CMA
  uint64_t probe_word;     // the value of that word: equal if CMA works (src/single_copy)
  int64_t xpmem_segment;   // segment id by which a peer may attach the rank's memory; 0: not published
  RankPlace place;
  RankMemory memory;

  // Written after the process has ended (shm/liveness.h), `dead` last. Deaths are numbered from 1.
  uint32_t death_cause;  // DeathCause
  int32_t death_code;    // exit code or signal
  uint32_t dead;         // the number of this death; 0: the process is alive
  /// Written by the rank: 1 once its program has set an error handler that returns errors of MPI calls.
  uint32_t returns_errors;

  // In the segment of a bridge (abi/bridges.h), set before `phase`.
  uint32_t home_rank;   // 1 + the local rank of this process in the segment of its job
  uint32_t maps_peers;  // 1 if it has mapped the segments of the jobs of all other processes

  CopyControlBlock control_block;
  LongTraffic traffic;
  WaitRecord waiting;
  AgreementEntry agreements[kAgreementsMax];
};

// A collective region, for rank_count ranks R: the bitmaps used, present and counted, each uint64_t[(R + 63)
// / 64], then, from the next line on, RankSlots rows[R]. Rows are indexed by process, not by rank in the
// communicator, so that the groups of a split can share a region. A bit of `present` means that the process
// may still use the region, a bit of `counted` that it was a member when the region was taken.

/// The data of one process in one small collective. The word is stored last and publishes the payload
/// (release).
struct alignas(kLineBytes) CollectiveSlot {
  uint64_t word;
  std::byte payload[4 * kLineBytes - sizeof(uint64_t)];
};
constexpr int64_t kSlotPayloadBytes = sizeof(CollectiveSlot::payload);
/// A power of two.
constexpr uint32_t kCollectiveSlots = 8;
/// Data that do not fit a slot's payload are in the slot's overflow buffer, in front of the pipeline buffers
/// of the process: slots are close together, and pages of overflow buffers are allocated at first use. A gap
/// follows each buffer, because a reader's processor prefetches beyond its end.
constexpr int64_t kOverflowPayloadBytes = 8192;
constexpr uint64_t kOverflowBufferBytes = kOverflowPayloadBytes + 1024;
constexpr uint64_t kOverflowBuffersBytes = kCollectiveSlots * kOverflowBufferBytes;
constexpr int kPipelineWords = kLineBytes / sizeof(uint64_t);

/// The slots and counters of one process in one region. Only that process writes them, and the process that
/// clears the region after all have left.
struct alignas(kLineBytes) RankSlots {
  CollectiveSlot slots[kCollectiveSlots];  // used in cyclic order
  /// Number of the last small collective that is complete in this process: it no longer reads any data up to
  /// it.
  uint32_t done;
  // For collectives through pipeline buffers: how far the process has filled its own, and how far it has read
  // those of the other ranks.
  alignas(kLineBytes) uint64_t produced[kPipelineWords];
  alignas(kLineBytes) uint64_t consumed[kPipelineWords];
};

constexpr size_t kSharedHoldWords = 8;  // of 64 ranks each

/// Shared words of one process's part of an RMA window (src/rma). They are in the process's arena slice, not
/// in the segment, because the program may create any number of windows.
struct alignas(kLineBytes) WindowBoard {
  /// The lock of the part and its holders: src/rma/part_lock.h.
  uint64_t lock;
  /// Number of processes that wait for it.
  uint32_t waiting;
  /// The accumulate lock: 1 + the process that is combining data in the part; 0: free.
  alignas(kLineBytes) uint32_t accumulate_lock;
  /// Parts that the process of this board holds a shared lock of, a bit for each rank of the window. Only
  /// that process writes here; waiters read it to find the holders.
  alignas(kLineBytes) uint64_t shared[kSharedHoldWords];
};

/// A range of bytes of a file that a process accesses in atomic mode; free if owner is 0.
struct FileRange {
  int64_t begin;
  int64_t end;
  uint32_t owner;  // 1 + the process
  uint32_t exclusive;
};
constexpr size_t kFileRangesMax = 24;

/// State that the processes of an open file share (src/io/board.h), in the arena slice of rank 0 of the
/// file's communicator.
struct alignas(kLineBytes) FileBoard {
  /// In etypes of the view.
  int64_t shared_pointer;
  /// The lock of `ranges`: 1 + the process that holds it; 0: free.
  alignas(kLineBytes) uint32_t lock;
  /// Number of processes that wait for a range.
  uint32_t waiting;
  alignas(kLineBytes) FileRange ranges[kFileRangesMax];
};

static_assert(sizeof(JobHeader) % kLineBytes == 0 && alignof(JobHeader) == kLineBytes);
static_assert(sizeof(CopyControlBlock) == kLineBytes && sizeof(AgreementEntry) == kLineBytes);
static_assert(sizeof(RankBlock) % kLineBytes == 0);
static_assert(sizeof(WindowBoard) == 3 * kLineBytes);
static_assert(kOverflowBuffersBytes % 4096 == 0);
static_assert(sizeof(CollectiveSlot) == 4 * kLineBytes);
static_assert(sizeof(RankSlots) == (4 * kCollectiveSlots + 3) * kLineBytes);

}  // namespace hearth::shm
