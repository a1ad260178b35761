// The pipeline buffers of a collective region, as seen by this process: each process writes its own buffer,
// as a ring, and reads those of the other ranks.
//
//   position   0            1 s          2 s          3 s        grows forever; the address is the
//              | stage 0    | stage 1    | stage 2    |          position modulo the size of the buffer
//              ^ consumed                ^ produced
//
// A long collective consists of stages of equal length. All processes of the region go through the same
// stages at the same positions, even if a process has nothing to write, so a position means the same on all
// of them. Each process publishes its progress in its row:
//
//   produced[contributed]   its buffer is filled for every stage that ends at or before this position
//   produced[reduced]       the same, with the results of its share of a reduction
//   consumed                it does not read data before this position any more
//   exposure                zero-copy exposure: its data of this generation are not in its buffer; other
//                           ranks read them in place, in its arena slice. They count as produced too
//
// The other words of the two cache lines hold the headers of the latest generations (collective_region.h). A
// process that exposes data ends its generation when the readers have consumed all of them or have published
// results of their last stage. If it must end earlier because a process died, it withdraws the exposure, and
// readers check for that after reading.
//
// A stage may be written when all other ranks have consumed the previous data at its address. The buffer is
// deliberately larger than an L2 cache, for long stages: docs/notebook/copying.md explains why buffers are
// best reused late.
//
// The long collectives of a communicator go through their stages one after another, in call order. Used under
// the library's lock. docs/design/memory_model.md explains the memory orders.
#pragma once

#include <algorithm>
#include <cstdint>

#include "p2p/store_policy.h"

namespace hearth::coll {

class CollectiveRegion;

/// Published zero-copy exposure:
///
///   bit  63          47           0
///        | withdrawn | generation | 1 + offset in the arena slice; 0: no exposure |
///
/// `withdrawn` is permanent: no rank trusts exposures of that process in this region again.
struct ZeroCopyExposure {
  static constexpr int kGenerationShift = 47;
  static constexpr uint64_t kOffsets = (uint64_t{1} << kGenerationShift) - 1;
  static constexpr uint64_t kWithdrawn = uint64_t{1} << 63;

  uint64_t word;

  static ZeroCopyExposure of(uint64_t generation, uint64_t offset) {
    return {(generation & 0xffff) << kGenerationShift | (offset + 1)};
  }
  bool withdrawn() const { return (word & kWithdrawn) != 0; }
  bool is_of(uint64_t generation) const {
    return (word & kOffsets) != 0 && (word >> kGenerationShift & 0xffff) == (generation & 0xffff);
  }
  uint64_t offset() const { return (word & kOffsets) - 1; }
};

class PipelineRing {
 public:
  /// `grows`: the first passes use a part of the buffer; equal on all ranks.
  PipelineRing(CollectiveRegion& region, bool grows);

  enum class Word : uint8_t { contributed, reduced };

  // Generations.

  /// They count from 1.
  uint64_t begin_generation() { return ++generations_begun_; }
  uint64_t generations_begun() const { return generations_begun_; }
  bool is_current(uint64_t generation) const { return generation == generations_ended_ + 1; }
  /// Ends the generation here. `position` is where its last stage ended, not where the next stage would
  /// begin: first_begin() of a longer stage could then be so far ahead that the process waits for positions
  /// that no process reaches.
  void end_generation(uint64_t position) {
    position_ = position;
    ++generations_ended_;
  }

  // Positions.

  /// Begin of the first stage of this length in the current generation; fit(): of a stage that follows one
  /// that ended at `position`. A stage does not wrap around the end of the buffer.
  ///
  /// The first passes use only the first part of the buffer, because the writer and each reader take a page
  /// fault per new page: an allreduce of 80 KB took 57 us in each of the first 15 calls, and 14 us
  /// afterwards. Each pass adds 2 KiB for each stage of the first one, until the whole buffer is in use,
  /// which is faster in the long run: 0.7 us instead of 1.4 us in a bcast of 8 KiB. Short stages stay in the
  /// first part (development machine, November 2026).
  uint64_t first_begin(int64_t stage_bytes) const { return fit(position_, stage_bytes); }
  uint64_t fit(uint64_t position, int64_t stage_bytes) const {
    constexpr uint64_t kStagesMin = 4, kGrowthPerStage = 2 * 1024;
    const auto bytes = static_cast<uint64_t>(stage_bytes);
    const uint64_t pass = position / memory_bytes_;
    const uint64_t place = position % memory_bytes_;
    const uint64_t first_part = std::max(kFirstPart, kStagesMin * bytes);
    const uint64_t growth =
        static_cast<uint32_t>(first_part) / static_cast<uint32_t>(bytes) * kGrowthPerStage;
    const uint64_t later_part = grows_ ? first_part + pass * growth : memory_bytes_;
    const uint64_t part = bytes <= kShortMax ? kFirstPart : later_part;
    return place + bytes <= std::min(memory_bytes_, part) ? position : position + memory_bytes_ - place;
  }
  /// Maximum length of a stage: several fit the buffer.
  int64_t stage_bytes_max() const { return static_cast<int64_t>(memory_bytes_ / 4); }
  std::byte* place(int rank, uint64_t position) const;
  /// The same for the own stage [begin, end), which is written next. Pages that are reached for the first
  /// time are populated 64 KiB at a time, because a reader's page fault then maps all pages of the same 64
  /// KiB (Linux's fault_around_bytes), and each rank reads the buffers of all others. The first part is left
  /// to page faults: the first call waits only for pages that it uses (a bcast of 8 KiB would take 118 us
  /// instead of 72), and a communicator that lives for a few calls costs no system call.
  std::byte* place_to_write(uint64_t begin, uint64_t end);

  // Progress counters.

  /// Whether all other ranks have consumed the previous data at the address of a stage that ends there; if
  /// not, `awaited` is a rank that has not.
  bool may_write(uint64_t end, int& awaited) {
    if (end <= consumed_by_all_ + memory_bytes_) return true;
    update_consumed_by_all(awaited);
    return end <= consumed_by_all_ + memory_bytes_;
  }
  /// Whether one rank, or all others (-1), have consumed all data up to this position; if not, `awaited` has
  /// not.
  bool is_consumed(int by, uint64_t end, int& awaited);
  /// Publishes that the own buffer is filled up to this position, and wakes one rank or all (-1). Pairs with
  /// has_produced().
  void publish_produced(Word word, uint64_t end, int to);
  bool has_produced(int rank, Word word, uint64_t end) const;
  /// Pairs with may_write().
  void publish_consumed(uint64_t end);

  // Zero-copy exposure.

  /// Publishes where the own data of a generation are, before any of them count as produced; an empty word
  /// exposes nothing. Pairs with exposure().
  void publish_exposure(ZeroCopyExposure exposure);
  /// A rank that reads exposed data during or after this call finds exposure().withdrawn() afterwards.
  void withdraw_exposure();
  /// Pre: has_produced() returned true in this generation, or atomic::fence_acquire() was called after
  /// reading.
  ZeroCopyExposure exposure(int rank) const;

  /// Adaptive copy policy for the own buffer.
  p2p::StorePolicy store_policy;

 private:
  void update_consumed_by_all(int& awaited);
  void populate(uint64_t place_end);

  static constexpr uint64_t kShortMax = 3 * 1024, kFirstPart = 64 * kShortMax;
  static constexpr size_t kExposure = 2;  // index in RankSlots::produced

  CollectiveRegion& region_;
  uint64_t memory_bytes_;
  bool grows_;                       // not where ranks share processors: few stages cost context switches
  uint64_t populated_ = kFirstPart;  // pages before this place were populated, or are left to page faults
  uint64_t position_ = 0;
  uint64_t consumed_by_all_ = 0;
  uint64_t generations_begun_ = 0;
  uint64_t generations_ended_ = 0;
  uint64_t published_exposure_ = 0;  // as published in the own row
};

}  // namespace hearth::coll
