// Collective regions: shared memory in which the processes of a communicator perform collectives by loads and
// stores instead of messages.
//
// A region is part of the shared segment (shm/layout.h) and has a row (RankSlots) for each process of the
// job:
//
//   row  | slot 0 | slot 1 | ... | slot 7 | done | produced | consumed |
//   slot | header: sequence number, bytes, lag, ... | payload |
//
// Separate memory holds an overflow buffer for each slot, for data longer than the payload, and the pipeline
// buffers (coll/pipeline_ring.h).
//
// Small collectives that use the region have sequence numbers, equal on all ranks. In collective n each
// process publishes its data in slot n % 8 of its own row and reads the slots of the other ranks. It may
// overwrite a slot once all other ranks have completed the collective that used the slot last. They publish
// this in `done` and, as the lag, in their slot headers. Whether a collective uses the region depends only on
// values that are equal on all ranks: its kind, its size in bytes, and whether there is a region.
//
// A persistent operation has a region of its own. Ranks may start several operations in different orders (MPI
// 5.0 section 6.13 orders only their initialization), so a start has no sequence number among the
// communicator's collectives. It has one among the starts of its operation; in the operation's own region,
// slots, pipeline buffers and leaving work as for a communicator. Initialization is collective and may be
// non-local, so rank 0 allocates the region and broadcasts its id. Half of the regions are reserved for
// communicators; an operation that gets no region uses messages.
//
// coll/region_pool.h allocates the regions. Used under the library's lock. docs/design/memory_model.md
// explains the memory orders.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/atomic.h"
#include "base/chaos.h"
#include "coll/access_counters.h"
#include "coll/arena_access.h"
#include "coll/hierarchy.h"
#include "coll/mismatch.h"
#include "coll/pipeline_ring.h"
#include "coll/region_pool.h"
#include "coll/select.h"
#include "objects/comm.h"
#include "shm/layout.h"
#include "shm/node.h"
#include "shm/segment.h"
#include "shm/wait.h"
#include "shm/write_prefetch.h"

namespace hearth::coll {

/// Header of a slot, which a process publishes in a small collective:
///
///   bit  60         50           46      32       0
///        | lag      | generation | kind  | bytes  | number
///
/// number       sequence number of the collective
/// bytes        length of the data; data that do not fit the payload are in the slot's overflow buffer
/// kind         a Collective
/// generation   number of long collectives called before (low bits): with `number`, the position among all
///              collectives
/// lag          number of collectives up to this one that the process has not completed, 1 to 8
struct SlotHeader {
  static constexpr uint32_t kBytes = 0x3fff;
  static constexpr uint32_t kGenerationMask = 0x3ff;
  static_assert(shm::kOverflowPayloadBytes <= kBytes);

  uint64_t word;

  uint32_t number() const { return static_cast<uint32_t>(word); }
  /// Bytes, kind and generation: equal on all ranks if their calls match.
  uint32_t what() const { return static_cast<uint32_t>(word >> 32) & 0x0fff'ffff; }
  int64_t bytes() const { return static_cast<int64_t>(word >> 32 & kBytes); }
  Collective kind() const { return static_cast<Collective>(word >> 46 & 15); }
  /// Whether this many long collectives were called before, as far as the low bits show.
  bool is_after(uint64_t generation) const {
    return (word >> 50 & kGenerationMask) == (generation & kGenerationMask);
  }
  uint32_t lag() const { return static_cast<uint32_t>(word >> 60); }
};
constexpr uint32_t what_of(int64_t bytes, Collective kind, uint64_t generation) {
  return static_cast<uint32_t>(bytes) | static_cast<uint32_t>(kind) << 14 |
         static_cast<uint32_t>(generation & SlotHeader::kGenerationMask) << 18;
}
constexpr SlotHeader slot_header_of(uint32_t number, uint32_t what, uint32_t lag) {
  return {number | uint64_t{what} << 32 | uint64_t{lag} << 60};
}

/// Header of a long collective, stored beside `produced` in a word that its generation selects: the low bits
/// of the generation and of the number of small collectives called before, the kind, and the number of bytes
/// that must be equal on all ranks.
struct CallHeader {
  static constexpr int64_t kBytesMax = (int64_t{1} << 36) - 1;  // larger values are clamped to it

  uint64_t word;

  int64_t bytes() const { return static_cast<int64_t>(word & uint64_t{kBytesMax}); }
  Collective kind() const { return static_cast<Collective>(word >> 36 & 15); }
  uint8_t small_begun() const { return static_cast<uint8_t>(word >> 40); }
  uint16_t generation() const { return static_cast<uint16_t>(word >> 48); }
};
/// Generations count from 1: an empty header is 0.
constexpr CallHeader call_header_of(uint64_t generation, uint32_t small_begun, Collective kind,
                                    int64_t bytes) {
  return {static_cast<uint64_t>(std::min(bytes, CallHeader::kBytesMax)) | static_cast<uint64_t>(kind) << 36 |
          uint64_t{small_begun & 0xff} << 40 | (generation & 0xffff) << 48};
}

/// This process's view of the region of a communicator or of a persistent operation. Ranks are those of the
/// communicator; if it spans several machines, local ranks among its processes on this machine.
class CollectiveRegion {
 public:
  // Lifetime.

  /// The region of all processes of a communicator; nullptr if it has none.
  static CollectiveRegion* of(objects::Comm& comm) {
    if (__builtin_expect(comm.region_view != nullptr, 1)) return comm.region_view;
    if (comm.region == objects::kNoRegion || comm.group->machines != nullptr) return nullptr;
    return enter(comm, comm.region_view, comm.region);
  }
  /// For a communicator on several machines: the region of its processes on this machine. nullptr if they
  /// have not agreed on a region (Comm::region_agreed) or there is none.
  static CollectiveRegion* on_machine(objects::Comm& comm) {
    if (comm.machine_region_view != nullptr || comm.region == objects::kNoRegion)
      return comm.machine_region_view;
    return enter(comm, comm.machine_region_view, comm.region);
  }
  /// Makes a view of a region that was allocated for a persistent operation. close() deletes the view and
  /// leaves the region.
  static CollectiveRegion* open(objects::Comm& comm, int32_t region) {
    CollectiveRegion* view = nullptr;
    return enter(comm, view, region);
  }
  static void close(CollectiveRegion* view);

  /// Lets no further collective use the region: a member has died, or the communicator was revoked.
  void disable();
  /// The error of such a communicator, for waiting operations; ok if there is none.
  Status failure() const { return __builtin_expect(comm_.failure == 0, 1) ? Status() : failed(); }

  int rank() const { return rank_; }
  int size() const { return size_; }
  objects::PeerIndex process(int rank) const { return peers_[rank]; }
  /// Local rank in the segment.
  int place(int rank) const;

  // Small collectives, by sequence number.

  /// Maximum length of a process's data in flat slots, where each rank reads all others (coll/flat_slots.h);
  /// -1 if other algorithms are better or were requested.
  int64_t flat_bytes_max(Collective collective) const {
    return flat_bytes_max_[static_cast<size_t>(collective)];
  }
  /// The same for hierarchical slots (coll/tree_slots.h).
  int64_t tree_bytes_max(Collective collective) const {
    return tree_bytes_max_[static_cast<size_t>(collective)];
  }
  /// Maximum vector length of an allreduce through pipeline buffers in which every rank reduces the whole
  /// vector.
  int64_t whole_bytes_max() const { return whole_bytes_max_; }
  /// Computes these limits again after the algorithm hints have changed (coll/select.h). Called alike on all
  /// ranks.
  void update_limits();
  /// The groups, by shared hardware or by rank number alone. Built on first use.
  const Hierarchy& hierarchy(bool by_place) {
    const std::unique_ptr<Hierarchy>& groups = hierarchies_[by_place ? 1 : 0];
    return __builtin_expect(groups != nullptr, 1) ? *groups : make_hierarchy(by_place);
  }
  /// Sequence number of the next small collective. Every rank takes one per collective, in call order.
  uint32_t next_number() { return ++begun_; }
  shm::CollectiveSlot& own_slot(uint32_t number) const { return own_->slots[number % shm::kCollectiveSlots]; }
  /// Address for this many bytes: the payload of the own slot or its overflow buffer.
  std::byte* own_payload(uint32_t number, int64_t bytes) const {
    return bytes <= shm::kSlotPayloadBytes ? own_slot(number).payload : overflow_buffer(rank_, number);
  }
  /// Address of the data that a rank published. If there are no overflow buffers, a header with more bytes
  /// than a payload is corrupt; the payload is returned.
  const std::byte* payload(int rank, const shm::CollectiveSlot& slot, const SlotHeader& header) const {
    const bool overflows = header.bytes() > shm::kSlotPayloadBytes && !overflow_buffers_.empty();
    return __builtin_expect(overflows, 0) ? overflow_buffer(rank, header.number()) : slot.payload;
  }
  /// Private buffer of this process for two operands of a reduction, each as long as an overflow buffer.
  /// Valid during one blocking call.
  std::byte* operand_room() {
    if (operand_room_ == nullptr)
      operand_room_ = std::make_unique_for_overwrite<std::byte[]>(2 * shm::kOverflowPayloadBytes);
    return operand_room_.get();
  }
  /// Whether no rank reads the previous data of that slot any more; if not, `awaited` is a process that may.
  bool may_write(uint32_t number, objects::PeerIndex& awaited) {
    if (__builtin_expect(number - done_by_all_ <= shm::kCollectiveSlots, 1)) return true;
    return update_done_by_all(number, awaited);
  }
  /// Publishes the data in the own slot. Pairs with poll().
  void publish(uint32_t number, uint32_t what) { publish(number, what, number - done_); }
  /// The same on behalf of other ranks too: `lag` is the maximum of their lags.
  void publish(uint32_t number, uint32_t what, uint32_t lag) {
    chaos::at(chaos::Point::slot_half_written);
    const SlotHeader header = slot_header_of(number, what, lag);
    atomic::store_release(own_slot(number).word, header.word);
    const bool overflows = header.bytes() > shm::kSlotPayloadBytes;
    access_counters::writes(&own_slot(number),
                            static_cast<int64_t>(sizeof header.word) + (overflows ? 0 : header.bytes()));
    if (overflows) access_counters::writes(own_payload(number, header.bytes()), header.bytes());
    chaos::at(chaos::Point::slot_published);
  }
  /// The lag: number of collectives up to this one that are not complete here.
  uint32_t lag(uint32_t number) const { return number - done_; }
  /// Polls the slot of a rank; false if the rank has not published data of this collective yet.
  bool poll(int rank, uint32_t number, const shm::CollectiveSlot*& slot, SlotHeader& header) const {
    slot = &rank_slots_[static_cast<size_t>(rank)]->slots[number % shm::kCollectiveSlots];
    header = {atomic::load_acquire(slot->word)};
    if (header.number() != number) return false;
    access_counters::reads(slot, sizeof slot->word);
    return true;
  }
  /// Records that all ranks have published a lag of at most `lag` in this collective.
  void learn(uint32_t number, uint32_t lag) {
    const uint32_t done = number - std::max(lag, number - done_);
    if (static_cast<int32_t>(done - done_by_all_) > 0) done_by_all_ = done;
  }
  /// Completes the collective on this process, which reads none of its data any more.
  void end(uint32_t number) {
    chaos::at(chaos::Point::collective_ends);
    if (__builtin_expect(number - done_ == 1 && ended_ == 0, 1)) {
      ++done_;
    } else {
      end_out_of_order(number);
    }
    if (done_ - done_published_ >= shm::kCollectiveSlots / 2) publish_done();
  }

  // Long collectives.

  shm::RankSlots& own_rank_slots() const { return *own_; }
  shm::RankSlots& rank_slots(int rank) const { return *rank_slots_[static_cast<size_t>(rank)]; }
  /// Pipeline buffers of a rank; their counters are in the rows. The buffers of another rank may be read once
  /// its counters show that they hold data.
  std::span<std::byte> pipeline_buffers(int rank) const;
  PipelineRing& pipeline_ring() { return pipeline_ring_; }
  ArenaAccess& arena_access() { return arena_access_; }

  // Collective mismatch: a rank is in a small collective while another is in a long one, or in one of another
  // kind or length. A rank that waits for another rank checks the headers of that rank, so that a mismatch is
  // reported as an error and does not hang. Afterwards the sequence numbers of the two ranks differ. The rank
  // that detected the mismatch publishes that it is out of step, and all ranks that wait for it report an
  // error too.

  /// Number of small collectives called here.
  uint32_t small_begun() const { return begun_; }
  /// Publishes the header of the long collective whose generation has just been taken.
  void publish_call(const CallHeader& long_call) {
    atomic::store_release(call_header(*own_, long_call.generation()), long_call.word);
  }
  /// Whether a rank has published a header for this generation; the last kCallHeaders headers are kept.
  bool poll_call(int rank, uint64_t generation, CallHeader& long_call) const {
    long_call = {atomic::load_acquire(call_header(rank_slots(rank), static_cast<uint16_t>(generation)))};
    return long_call.word != 0 && long_call.generation() == static_cast<uint16_t>(generation);
  }
  bool is_out_of_step(int rank) const {
    return atomic::load_acquire(rank_slots(rank).consumed[kOutOfStep]) != 0;
  }
  /// Marks this process as out of step and publishes the reason: the call of the other rank and its own.
  [[gnu::cold]] Status fall_out_of_step(const MismatchedCall& other, const MismatchedCall& own);
  /// The same because that rank is out of step or called another collective. Passes on the reason that it
  /// published.
  [[gnu::cold]] Status fall_out_of_step(int rank);

  /// Wakes a rank that may be waiting for the value just stored.
  void wake(int rank) const {
    wake_words_[static_cast<size_t>(rank)].wake();
    access_counters::wakes();
  }
  void wake_all() const;

 private:
  static constexpr size_t kOutOfStep = 1;    // index in RankSlots::consumed
  static constexpr size_t kSeen = 3;         // index in RankSlots::consumed: why it is out of step
  static constexpr size_t kOwn = 4;          // likewise
  static constexpr size_t kCallHeaders = 4;  // the last words of RankSlots::produced

  std::byte* overflow_buffer(int rank, uint32_t number) const {
    return overflow_buffers_[static_cast<size_t>(rank)] +
           number % shm::kCollectiveSlots * shm::kOverflowBufferBytes;
  }
  static uint64_t& call_header(shm::RankSlots& rank_slots, uint16_t generation) {
    return rank_slots.produced[shm::kPipelineWords - kCallHeaders + generation % kCallHeaders];
  }
  CollectiveRegion(objects::Comm& comm, const shm::Segment& segment, int32_t region);
  [[gnu::cold]] bool update_done_by_all(uint32_t number, objects::PeerIndex& awaited);
  void end_out_of_order(uint32_t number);
  friend void use_regions(RegionPool& pool);
  friend class FlatSlots;  // the two prefetches
  /// Prefetches for write the overflow buffer of the next collective, whose data are probably as long as
  /// those of `number`, which this process has just published: its lines are in the caches of the ranks that
  /// read them eight collectives ago, and storing the data would wait for each. `unread`: the first of the
  /// data that no rank reads, and their length. Not for data in a slot: 64 bytes became a quarter slower
  /// between far cores and with 8 ranks, because an early rank polls the slot at the same time.
  void prefetch_next(uint32_t number, int64_t bytes, std::pair<int64_t, int64_t> unread) {
    if (prefetches_ && bytes > shm::kSlotPayloadBytes) store_to_next(number, bytes, unread);
  }
  void store_to_next(uint32_t number, int64_t bytes, std::pair<int64_t, int64_t> unread);
  /// Prefetches `bytes` bytes of the overflow buffers of ranks `first` down to `last` in this collective,
  /// from `offset` on, and the headers.
  void prefetch_to_read(uint32_t number, int first, int last, int64_t offset, int64_t bytes) const {
    if (overflow_buffers_.empty()) return;
    constexpr int64_t kBytesMax = 4 * shm::kLineBytes;  // the processor continues by itself
    for (int rank = first; rank >= last; --rank) {
      if (rank == rank_) continue;
      __builtin_prefetch(&rank_slots_[static_cast<size_t>(rank)]->slots[number % shm::kCollectiveSlots]);
      const std::byte* const data = overflow_buffer(rank, number) + offset;
      for (int64_t at = 0; at < std::min(bytes, kBytesMax); at += shm::kLineBytes)
        __builtin_prefetch(data + at);
    }
  }
  void publish_death();
  void publish_out_of_step(PublishedMismatch seen, PublishedMismatch own);
  [[gnu::cold]] Status death_before() const;
  void publish_done();
  /// Whether the job has more ranks than processors.
  bool shares_processors() const;
  bool has_overflow_buffers() const { return segment_.geometry().pipeline_bytes != 0; }
  [[gnu::cold]] static CollectiveRegion* enter(objects::Comm& comm, CollectiveRegion*& view, int32_t region);
  [[gnu::cold]] const Hierarchy& make_hierarchy(bool by_place);

  shm::RankSlots* own_ = nullptr;
  std::vector<shm::RankSlots*> rank_slots_;   // by rank
  std::vector<std::byte*> overflow_buffers_;  // by rank; empty if there are no pipeline buffers
  std::vector<shm::WakeWord> wake_words_;     // by rank
  uint32_t begun_ = 0;
  uint32_t done_ = 0;            // all collectives up to this one are complete here
  uint32_t done_published_ = 0;  // as published in the own row
  uint32_t done_by_all_ = 0;     // all collectives up to this one are complete on all ranks
  uint64_t ended_ = 0;           // bit i: done_ + 1 + i is complete here
  int64_t flat_bytes_max_[static_cast<size_t>(Collective::count_)];
  int64_t tree_bytes_max_[static_cast<size_t>(Collective::count_)];
  int64_t whole_bytes_max_ = 0;
  bool prefetches_ = false;  // every rank has a processor
  shm::WritePrefetch write_prefetch_;
  std::unique_ptr<Hierarchy> hierarchies_[2];  // by rank number, by shared hardware
  std::unique_ptr<std::byte[]> operand_room_;
  [[gnu::cold]] Status failed() const;
  const objects::Comm& comm_;
  const uint32_t context_;
  int rank_ = 0;
  int size_ = 0;
  const objects::PeerIndex* peers_ = nullptr;
  const shm::Segment& segment_;
  const int32_t region_;
  const int index_;  // index of the region
  PipelineRing pipeline_ring_;
  ArenaAccess arena_access_;
};

/// Makes this the process's pool (region_pool()), and connects communicators to their regions. Called before
/// the first communicator is made; tests that play several processes call it for each.
void use_regions(RegionPool& pool);

}  // namespace hearth::coll
