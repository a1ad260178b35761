// Long collectives through shared chunks (chunk_ring.h): data go through in stages, all ranks at work at the
// same time, and stay in the caches. Three things happen in each stage; a rank that has nothing to do in one
// of them passes on:
//
//   put    what others need is copied, or packed, into the own chunk
//   take   what others have put is copied or unpacked from their chunks, or reduced: all operands of the own
//          share in one pass, in the order of ranks
//   share  what others have reduced is copied from their chunks
//
// In a chain what is taken is what the rank before has reduced, and a rank puts its own result for the next.
//
// and they overlap: a rank puts ahead as long as there is room. Where its data lie in the arena it puts
// nothing: it lends all of them at once, and others take them from there. Used under the library's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "coll/blocks.h"
#include "coll/chunk_ring.h"
#include "coll/control_area.h"
#include "coll/schedule.h"

namespace hearth::coll {

/// Whether a communicator has chunks: the same on all ranks.
bool has_chunks(const Schedule& schedule);

/// What long collectives have in common: their way through the stages.
class ChunkStages : public Encounter {
 public:
  /// Takes its turn.
  void begin() final;
  bool advance() final;
  void describe(p2p::WaitNote& note) const final;
  bool look() final;

 protected:
  /// What this rank does in each stage.
  struct Part {
    bool puts = true;
    bool takes = true;
    bool shares = false;
    ChunkRing::Word taken = ChunkRing::Word::contributed;  // what it takes of others
    int reader = -1;                                       // who reads what it puts; -1: all
    int result_reader = -1;                                // and what it has reduced
  };

  explicit ChunkStages(Schedule& schedule);
  ~ChunkStages() = default;

  void set_part(const Part& part) { part_ = part; }
  /// What it is, and the bytes that are the same on all ranks: for those that disagree.
  void set_kind(Collective kind, int64_t bytes) {
    kind_ = kind;
    agreed_bytes_ = bytes;
  }
  /// What has to be known before it is a step. The same on all ranks.
  void set_stages(int64_t stages, int64_t stage_bytes);
  /// All that this rank puts, of all stages, where each byte stays as it is until the others have read it:
  /// they may do that where it lies, if that is where they can. Not for results: who writes them anew after
  /// others have read them waits for each line, which chunks avoid (an allreduce of 1 MiB between far ranks
  /// took 266 us so, and 108 by chunks).
  void offer(const void* place, int64_t bytes) { offered_ = {place, bytes}; }
  /// Where the part of a stage that a rank has put is read, which begins there: `in_chunk` bytes behind the
  /// beginning of its chunk, or `in_all` behind that of what it lends.
  const std::byte* source(int from, uint64_t begin, int64_t in_chunk, int64_t in_all, int64_t bytes);
  int size() const { return area_.size(); }
  int rank() const { return area_.rank(); }
  bool puts() const { return part_.puts; }
  ChunkRing& ring() { return ring_; }

  /// Into the own chunk, which is free; false where nothing is put yet, but results later.
  virtual bool put(int64_t stage, std::byte* chunk) = 0;
  /// When that has been shown to others.
  virtual void after_put(int64_t) {}
  /// Whether that rank has put, or reduced, something that this one needs.
  virtual bool takes_from(int64_t stage, int from) const = 0;
  virtual bool shares_from(int64_t, int) const { return false; }
  /// Of one rank, in a stage that begins there.
  virtual void take(int64_t, int, uint64_t) {}
  /// When everything that is to be taken has come; true when there is a result for others in the own chunk.
  virtual bool reduce(int64_t, uint64_t) { return false; }
  /// The results of one rank, from its chunk.
  virtual void share(int64_t, int, const std::byte*) {}

 private:
  struct Cursor {
    int64_t stage = 0;
    uint64_t begin = 0;
    int way = 1;  // of the ranks that are read, the next one's distance
  };

  uint64_t end(const Cursor& cursor) const { return cursor.begin + static_cast<uint64_t>(stage_bytes_); }
  void next_stage(Cursor& cursor) {
    ++cursor.stage;
    cursor.way = 1;
    cursor.begin = ring_.fit(end(cursor), stage_bytes_);
  }
  bool wait_for(int rank) {
    awaited_rank_ = rank;
    awaited = area_.process(rank);
    return false;
  }
  struct Offer {
    const void* place = nullptr;
    int64_t bytes = 0;
  };

  bool is_told_otherwise(int rank) const;
  void lend();
  bool loans_stand();
  bool is_still_read(int& awaited_rank);
  void put_everything();
  void announce();
  void show_produced(ChunkRing::Word word, uint64_t end, int to);
  void show_consumed(uint64_t end) { ring_.show_consumed(consumed_ = end); }
  void end_turn(uint64_t position);
  [[gnu::cold]] bool give_up(Status status);
  bool advance_put();
  bool advance_take();
  bool advance_share();

  ControlArea& area_;
  ChunkRing& ring_;
  Collective kind_ = Collective::count_;
  int64_t agreed_bytes_ = 0;
  uint64_t turn_ = 0;
  uint32_t lines_ = 0;  // small collectives before it
  int awaited_rank_ = 0;
  bool begun_ = false;
  bool announced_ = false;
  Part part_;
  Offer offered_;
  bool lent_ = false;
  bool borrows_ = false;   // in the stage that is being taken
  uint64_t consumed_ = 0;  // as this rank has shown it in this turn
  int64_t stages_ = 0;
  int64_t stage_bytes_ = 0;
  Cursor put_;
  Cursor take_;
  Cursor share_;
};

/// How much of a block goes through in one stage: all of a short one; of a long one pieces that let others
/// begin early and still cost little each. Of 4 to 64 KiB this was best among two near ranks, at 64 KiB and 1
/// MiB; among far ones half of it was better by a tenth (development machine, November 2026).
constexpr int64_t chunk_piece_bytes(int64_t block_bytes) {
  return std::clamp<int64_t>(block_bytes, 1, 32 * 1024);
}

/// A block for each rank, or from it; packed bytes of elements.
struct ChunkBlocks {
  struct Part {
    std::byte* place;
    int64_t bytes;
  };
  /// Of a buffer with blocks of one length.
  std::byte* base = nullptr;
  int64_t stride = 0;
  int64_t bytes = 0;
  /// Of any lengths and places.
  const Part* parts = nullptr;
  Type* type = nullptr;

  std::byte* place(int rank) const { return parts != nullptr ? parts[rank].place : base + rank * stride; }
  int64_t length(int rank) const { return parts != nullptr ? parts[rank].bytes : bytes; }
};

/// Collectives that only copy. Blocks in place are not copied.
class ChunkMoves final : public ChunkStages {
 public:
  explicit ChunkMoves(Schedule& schedule) : ChunkStages(schedule) {}

  void bcast(void* buffer, Count count, Type& type, int root);
  void gather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks, int root);
  void scatter(Schedule& schedule, const RankBlocks& blocks, const OwnBlock& own, int root);
  /// Blocks of any lengths.
  Status allgather(Schedule& schedule, const OwnBlock& own, const RankBlocks& blocks);
  /// In place: `out` is `in`.
  void alltoall(Schedule& schedule, const RankBlocks& out, const RankBlocks& in);

  /// As a step.
  void join(Schedule& schedule) { schedule.meet(*this, out_.type, in_.type); }

 private:
  void cut(int64_t bytes, int parts);
  void keep_own(Schedule& schedule, const OwnBlock& own, int own_rank);
  void put_piece(int64_t stage, int rank, std::byte* chunk);
  int64_t piece_of(int64_t stage, int64_t bytes) const {
    return std::min(piece_bytes_, bytes - stage * piece_bytes_);
  }

  void offer_blocks(const ChunkBlocks& blocks, int64_t bytes);
  bool put(int64_t stage, std::byte* chunk) override;
  void after_put(int64_t stage) override;
  bool takes_from(int64_t stage, int from) const override;
  void take(int64_t stage, int from, uint64_t begin) override;

  ChunkBlocks out_;          // by the rank it goes to, or one for all
  ChunkBlocks in_;           // by the rank it comes from
  bool apart_ = false;       // a chunk has a part for each other rank, by its distance
  int taken_from_ = -1;      // the only one that puts; -1: all
  int64_t piece_bytes_ = 0;  // of each block in each stage
  int64_t part_bytes_ = 0;   // from part to part in a chunk
  // The own block, where it goes on beside the others'.
  const std::byte* own_from_ = nullptr;
  std::byte* own_to_ = nullptr;
  int64_t own_bytes_ = 0;
};

/// Reductions. The result has the same bits whatever the number of stages and the way they are cut, and, but
/// for scan_chain(), whatever the kind. Elements with gaps travel packed, and are unpacked before they are
/// reduced, one rank's after the other.
class ChunkReduction final : public ChunkStages {
 public:
  /// Whether elements of this type can go through chunks. What counts is their size alone, which all ranks
  /// agree on.
  static bool fits(const Schedule& schedule, const Type& type);

  /// `input` may be `receive`.
  ChunkReduction(Schedule& schedule, const void* input, void* receive, Type& type, Op& op)
      : ChunkStages(schedule), input_(input), receive_(receive), type_(type), op_(op) {}

  /// Each rank reduces everything: for short vectors.
  Status allreduce_whole(Schedule& schedule, Count count);
  /// Each rank reduces its share.
  Status allreduce_shares(Schedule& schedule, Count count);
  Status reduce(Schedule& schedule, Count count, int root);
  /// `begins`: where each rank's block begins, and where the last one ends; it lives as long as the schedule.
  /// nullptr: blocks of `each` elements.
  Status reduce_scatter(Schedule& schedule, const Count* begins, Count each);

  /// Each rank reduces the operands of all ranks up to its own, or before it: for short vectors, or two
  /// ranks.
  Status scan_whole(Schedule& schedule, Count count, bool inclusive);
  /// Each rank takes the result of the one before and goes on with it.
  Status scan_chain(Schedule& schedule, Count count, bool inclusive);

  /// As a step.
  void join(Schedule& schedule);

 private:
  static constexpr int64_t kElementBytesMax = 1024;

  /// What a rank reduces of a stage.
  struct Range {
    Count begin;  // in the vector
    Count count;
    int64_t offset;  // in a chunk
  };
  enum class Kind : uint8_t { whole, shares, at_root, blocks, scan_whole, scan_chain };

  Range range(int64_t stage, int rank) const;
  Count block_begin(int rank) const { return begins_ != nullptr ? begins_[rank] : each_ * rank; }
  Count block_count(int rank) const { return begins_ != nullptr ? begins_[rank + 1] - begins_[rank] : each_; }
  std::byte* element(const void* buffer, Count index) const {
    return static_cast<std::byte*>(const_cast<void*>(buffer)) + index * type_.extent;
  }
  void cut(Count count, int parts);
  /// `count`: the most that is reduced at a time, of so many ranks.
  Status reserve_operands(Schedule& schedule, int operands, Count count);
  Status reserve(Schedule& schedule, Count count, bool needs_result);
  void put_range(const Range& range, std::byte* chunk);
  void put_result(const void* result, const Range& range, uint64_t begin);
  const std::byte* packed_operand(int from, uint64_t begin, const Range& range);
  void note(Status status) {
    if (!status.ok() && outcome.ok()) outcome = status;
  }
  void reduce_operands(int first, int last, uint64_t begin, const Range& range, std::byte* to);
  void reduce_unpacked(int first, int last, uint64_t begin, const Range& range, std::byte* to);
  void keep(const void* result, std::byte* place, Count count);
  bool reduce_link(const Range& range, uint64_t begin);

  bool put(int64_t stage, std::byte* chunk) override;
  bool takes_from(int64_t stage, int from) const override;
  bool reduce(int64_t stage, uint64_t begin) override;
  bool shares_from(int64_t stage, int from) const override;
  void share(int64_t stage, int from, const std::byte* chunk) override;
  void offer_input(Count count);

  const void* input_;
  void* receive_;
  Type& type_;
  Op& op_;
  Kind kind_ = Kind::whole;
  int root_ = -1;          // the only one that gets the result; -1: all, or each its block
  Count count_ = 0;        // of the vector
  Count stage_count_ = 0;  // of a stage, or of a block in a stage
  bool inclusive_ = true;  // a scan
  const Count* begins_ = nullptr;
  Count each_ = 0;
  int64_t part_bytes_ = 0;             // from block to block in a chunk
  std::byte* result_ = nullptr;        // of a stage, where it does not go straight to its place
  std::byte* block_result_ = nullptr;  // of all stages, likewise
  const void** operands_ = nullptr;    // of elements without gaps
  std::byte* unpacked_ = nullptr;      // the elements of one other rank, of those with gaps
};

/// A step of a schedule whose communicator has chunks: `begin` says what it is.
template <class Begin>
Status move_through_chunks(Schedule& schedule, Begin begin) {
  ChunkMoves* moves;
  HEARTH_TRY(schedule.make_encounter(moves, schedule));
  HEARTH_TRY(begin(*moves));
  moves->join(schedule);
  return {};
}
template <class Begin>
Status reduce_through_chunks(Schedule& schedule, const void* input, void* receive, Type& type, Op& op,
                             Begin begin) {
  ChunkReduction* reduction;
  HEARTH_TRY(schedule.make_encounter(reduction, schedule, input, receive, type, op));
  HEARTH_TRY(begin(*reduction));
  reduction->join(schedule);
  return {};
}

}  // namespace hearth::coll
