// Long collectives through pipeline buffers (pipeline_ring.h). The data pass in stages, so that all ranks
// work at the same time and the data stay in the caches. A stage has three phases; a rank skips a phase in
// which it has nothing to do:
//
//   put    copies or packs the data that other ranks need into the own buffer
//   take   copies or unpacks the data that other ranks have put, or reduces them: all operands of the
//          own share in one pass, in rank order
//   share  copies the results that other ranks have reduced from their buffers
//
// In a chain, a rank takes the result that the previous rank has reduced and puts its own result for the next
// rank.
//
// The phases overlap: a rank puts data of later stages as long as its buffer has room. If its data lie in the
// arena, it puts nothing. Instead it exposes all of them at once, and other ranks take them from there. Used
// under the library's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "coll/blocks.h"
#include "coll/collective_region.h"
#include "coll/pipeline_ring.h"
#include "coll/schedule.h"

namespace hearth::coll {

/// Whether a communicator has pipeline buffers: equal on all ranks.
bool has_pipeline(const Schedule& schedule);

/// Base of the long collectives: their progress through the stages.
class PipelineStages : public SharedCollective {
 public:
  /// Takes the next generation.
  void begin() final;
  bool advance() final;
  void describe(p2p::WaitDiagnostics& note) const final;
  bool check_failure() final;

 protected:
  /// What this rank does in each stage.
  struct Part {
    bool puts = true;
    bool takes = true;
    bool shares = false;
    PipelineRing::Word taken = PipelineRing::Word::contributed;  // the data that it takes from other ranks
    int reader = -1;                                             // the rank that reads what it puts; -1: all
    int result_reader = -1;  // the rank that reads what it has reduced; -1: all
  };

  explicit PipelineStages(Schedule& schedule);
  ~PipelineStages() = default;

  void set_part(const Part& part) { part_ = part; }
  /// The kind, and the number of bytes that must be equal on all ranks: for the header that detects a
  /// collective mismatch.
  void set_kind(Collective kind, int64_t bytes) {
    kind_ = kind;
    agreed_bytes_ = bytes;
  }
  /// Number and length of the stages, equal on all ranks. Call before it becomes a step of the schedule.
  void set_stages(int64_t stages, int64_t stage_bytes);
  /// Declares all data that this rank puts in all stages. They must not change until the other ranks have
  /// read them, so other ranks may read them in place, if they can. Not for results: a rank that writes new
  /// results over results that others have read waits for each cache line, which pipeline buffers avoid (an
  /// allreduce of 1 MiB between far ranks took 266 us with exposed results, 108 us through pipeline buffers).
  void offer(const void* place, int64_t bytes) { offered_ = {place, bytes}; }
  /// Address of data that a rank has put in the stage at position `begin`: `in_stage` bytes after the start
  /// of the stage in its buffer, or `in_all` bytes after the start of its exposed data.
  const std::byte* source(int from, uint64_t begin, int64_t in_stage, int64_t in_all, int64_t bytes);
  int size() const { return region_.size(); }
  int rank() const { return region_.rank(); }
  bool puts() const { return part_.puts; }
  PipelineRing& ring() { return ring_; }

  /// Fills this stage of the own buffer, which is free. False: there are no data to publish yet, only results
  /// later.
  virtual bool put(int64_t stage, std::byte* stage_data) = 0;
  /// Called after the data have been published.
  virtual void after_put(int64_t) {}
  /// Whether rank `from` puts, or reduces, data in this stage that this rank needs.
  virtual bool takes_from(int64_t stage, int from) const = 0;
  virtual bool shares_from(int64_t, int) const { return false; }
  /// Takes the data of one rank, in the stage at that position.
  virtual void take(int64_t, int, uint64_t) {}
  /// Called when all data to be taken in the stage have arrived. True if the own buffer now contains a result
  /// for other ranks.
  virtual bool reduce(int64_t, uint64_t) { return false; }
  /// Copies the results of one rank from its buffer.
  virtual void share(int64_t, int, const std::byte*) {}

 private:
  struct Cursor {
    int64_t stage = 0;
    uint64_t begin = 0;
    int way = 1;  // distance to the next rank to read from
  };

  uint64_t end(const Cursor& cursor) const { return cursor.begin + static_cast<uint64_t>(stage_bytes_); }
  void next_stage(Cursor& cursor) {
    ++cursor.stage;
    cursor.way = 1;
    cursor.begin = ring_.fit(end(cursor), stage_bytes_);
  }
  bool wait_for(int rank) {
    awaited_rank_ = rank;
    awaited = region_.process(rank);
    return false;
  }
  struct Offer {
    const void* place = nullptr;
    int64_t bytes = 0;
  };

  bool has_other_header(int rank) const;
  void expose_data();
  bool exposures_valid();
  bool is_still_read(int& awaited_rank);
  void put_everything();
  void publish_call();
  void publish_produced(PipelineRing::Word word, uint64_t end, int to);
  void publish_consumed(uint64_t end) { ring_.publish_consumed(consumed_ = end); }
  void end_generation(uint64_t position);
  [[gnu::cold]] bool give_up(Status status);
  bool advance_put();
  bool advance_take();
  bool advance_share();

  CollectiveRegion& region_;
  PipelineRing& ring_;
  Collective kind_ = Collective::count_;
  int64_t agreed_bytes_ = 0;
  uint64_t generation_ = 0;
  uint32_t small_begun_ = 0;  // number of small collectives called before
  int awaited_rank_ = 0;
  bool begun_ = false;
  bool has_published_call_ = false;
  Part part_;
  Offer offered_;
  bool exposes_ = false;
  bool reads_exposed_ = false;  // has read exposed data in the current take phase
  uint64_t consumed_ = 0;       // as published in this generation
  int64_t stages_ = 0;
  int64_t stage_bytes_ = 0;
  Cursor put_;
  Cursor take_;
  Cursor share_;
};

/// Bytes of a block per stage. A short block passes in one stage. A long one is cut into pieces short enough
/// for other ranks to begin early, and long enough to keep the cost per piece small. Among 4 to 64 KiB this
/// was best between two near ranks, for blocks of 64 KiB and 1 MiB; between far ranks half of it was better
/// by a tenth (development machine, November 2026).
constexpr int64_t pipeline_piece_bytes(int64_t block_bytes) {
  return std::clamp<int64_t>(block_bytes, 1, 32 * 1024);
}

/// Blocks to, or from, each rank; lengths in packed bytes.
struct PipelineBlocks {
  struct Part {
    std::byte* place;
    int64_t bytes;
  };
  /// Blocks of equal length in one buffer.
  std::byte* base = nullptr;
  int64_t stride = 0;
  int64_t bytes = 0;
  /// If set: blocks of any lengths and places.
  const Part* parts = nullptr;
  Type* type = nullptr;

  std::byte* place(int rank) const { return parts != nullptr ? parts[rank].place : base + rank * stride; }
  int64_t length(int rank) const { return parts != nullptr ? parts[rank].bytes : bytes; }
};

/// Collectives that only copy. In-place blocks are not copied.
class PipelineMoves final : public PipelineStages {
 public:
  explicit PipelineMoves(Schedule& schedule) : PipelineStages(schedule) {}

  void bcast(void* buffer, Count count, Type& type, int root);
  void gather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root);
  void scatter(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root);
  /// Blocks of any lengths.
  Status allgather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks);
  /// In place if `out` is `in`.
  void alltoall(Schedule& schedule, const RankBlocks& out, const RankBlocks& in);

  /// Adds it to the schedule as a step.
  void join(Schedule& schedule) { schedule.add_shared(*this, out_.type, in_.type); }

 private:
  void cut(int64_t bytes, int parts);
  void keep_own(Schedule& schedule, const OwnBlock& own, int own_rank);
  void put_piece(int64_t stage, int rank, std::byte* stage_data);
  int64_t piece_of(int64_t stage, int64_t bytes) const {
    return std::min(piece_bytes_, bytes - stage * piece_bytes_);
  }

  void offer_blocks(const PipelineBlocks& blocks, int64_t bytes);
  bool put(int64_t stage, std::byte* stage_data) override;
  void after_put(int64_t stage) override;
  bool takes_from(int64_t stage, int from) const override;
  void take(int64_t stage, int from, uint64_t begin) override;

  PipelineBlocks out_;       // by destination rank, or one block for all ranks
  PipelineBlocks in_;        // by source rank
  bool apart_ = false;       // a stage has a part for each other rank, by distance
  int taken_from_ = -1;      // the only rank that puts; -1: all
  int64_t piece_bytes_ = 0;  // of each block in each stage
  int64_t part_bytes_ = 0;   // distance between parts in a stage
  // The own block, if it is copied together with the blocks of other ranks.
  const std::byte* own_from_ = nullptr;
  std::byte* own_to_ = nullptr;
  int64_t own_bytes_ = 0;
};

/// Reductions. The result has the same bits for any number and length of stages and, except for scan_chain(),
/// for every kind. Elements with gaps are transferred packed. They are unpacked before they are reduced, one
/// rank's after the other.
class PipelineReduction final : public PipelineStages {
 public:
  /// Whether elements of this type can pass through pipeline buffers. Depends only on their size, which is
  /// equal on all ranks.
  static bool fits(const Schedule& schedule, const Type& type);

  /// `input` may be `receive`.
  PipelineReduction(Schedule& schedule, const void* input, void* receive, Type& type, Op& op)
      : PipelineStages(schedule), input_(input), receive_(receive), type_(type), op_(op) {}

  /// Each rank reduces the whole vector: for short vectors.
  Status allreduce_whole(Schedule& schedule, Count count);
  /// Each rank reduces its share.
  Status allreduce_shares(Schedule& schedule, Count count);
  Status reduce(Schedule& schedule, Count count, int root);
  /// `begins`: the start of each rank's block and the end of the last one; must live as long as the schedule.
  /// nullptr: blocks of `each` elements.
  Status reduce_scatter(Schedule& schedule, const Count* begins, Count each);

  /// Each rank reduces the operands of all ranks up to its own (inclusive) or before it (exclusive): for
  /// short vectors, or two ranks.
  Status scan_whole(Schedule& schedule, Count count, bool inclusive);
  /// Each rank takes the result of the previous rank and reduces its own operand into it.
  Status scan_chain(Schedule& schedule, Count count, bool inclusive);

  /// Adds it to the schedule as a step.
  void join(Schedule& schedule);

 private:
  static constexpr int64_t kElementBytesMax = 1024;

  /// The part of a stage that one rank reduces.
  struct Range {
    Count begin;  // in the vector
    Count count;
    int64_t offset;  // in the stage
  };
  enum class Kind : uint8_t { whole, shares, at_root, blocks, scan_whole, scan_chain };

  Range range(int64_t stage, int rank) const;
  Count block_begin(int rank) const { return begins_ != nullptr ? begins_[rank] : each_ * rank; }
  Count block_count(int rank) const { return begins_ != nullptr ? begins_[rank + 1] - begins_[rank] : each_; }
  std::byte* element(const void* buffer, Count index) const {
    return static_cast<std::byte*>(const_cast<void*>(buffer)) + index * type_.extent;
  }
  void cut(Count count, int parts);
  /// `count`: maximum number of elements that are reduced at a time, with `operands` operands.
  Status reserve_operands(Schedule& schedule, int operands, Count count);
  Status reserve(Schedule& schedule, Count count, bool needs_result);
  void put_range(const Range& range, std::byte* stage_data);
  void put_result(const void* result, const Range& range, uint64_t begin);
  const std::byte* packed_operand(int from, uint64_t begin, const Range& range);
  void note(Status status) {
    if (!status.ok() && outcome.ok()) outcome = status;
  }
  void reduce_operands(int first, int last, uint64_t begin, const Range& range, std::byte* to);
  void reduce_unpacked(int first, int last, uint64_t begin, const Range& range, std::byte* to);
  void keep(const void* result, std::byte* place, Count count);
  bool reduce_link(const Range& range, uint64_t begin);

  bool put(int64_t stage, std::byte* stage_data) override;
  bool takes_from(int64_t stage, int from) const override;
  bool reduce(int64_t stage, uint64_t begin) override;
  bool shares_from(int64_t stage, int from) const override;
  void share(int64_t stage, int from, const std::byte* stage_data) override;
  void offer_input(Count count);

  const void* input_;
  void* receive_;
  Type& type_;
  Op& op_;
  Kind kind_ = Kind::whole;
  int root_ = -1;          // the only rank that gets the result; -1: all ranks, or each rank its block
  Count count_ = 0;        // of the vector
  Count stage_count_ = 0;  // of a stage, or of a block in a stage
  bool inclusive_ = true;  // a scan
  const Count* begins_ = nullptr;
  Count each_ = 0;
  int64_t part_bytes_ = 0;             // distance between blocks in the stage
  std::byte* result_ = nullptr;        // of a stage, if it is not reduced directly into its destination
  std::byte* block_result_ = nullptr;  // of all stages, likewise
  const void** operands_ = nullptr;    // addresses of the operands, for elements without gaps
  std::byte* unpacked_ = nullptr;      // elements of one other rank, for elements with gaps
};

/// Adds a step to a schedule whose communicator has pipeline buffers: `begin` sets the collective.
template <class Begin>
Status move_through_pipeline(Schedule& schedule, Begin begin) {
  PipelineMoves* moves;
  HEARTH_TRY(schedule.make_shared(moves, schedule));
  HEARTH_TRY(begin(*moves));
  moves->join(schedule);
  return {};
}
template <class Begin>
Status reduce_through_pipeline(Schedule& schedule, const void* input, void* receive, Type& type, Op& op,
                               Begin begin) {
  PipelineReduction* reduction;
  HEARTH_TRY(schedule.make_shared(reduction, schedule, input, receive, type, op));
  HEARTH_TRY(begin(*reduction));
  reduction->join(schedule);
  return {};
}

}  // namespace hearth::coll
