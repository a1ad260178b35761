// The chunk memory of a control area, as this process sees it: each process writes into its own chunks, in
// turn, and reads those of others.
//
//   position   0            1 s          2 s          3 s        grows for ever; its place in the memory is
//   the
//              | stage 0    | stage 1    | stage 2    |          position modulo the size of the memory
//              ^ consumed                ^ produced
//
// A long collective is a number of stages of equal length. All processes of the area go through the same
// stages at the same positions, also where one has nothing to write, so a position says the same to all. Each
// shows in its row how far it is:
//
//   produced[contributed]   its chunk of every stage that ends there is filled
//   produced[reduced]       likewise, with the results of its share of a reduction
//   consumed                it reads nothing any more of what lies before
//   loan                    what it contributes in this turn is not in its chunks: others read it where it
//                           lies, in its window of the arena; it counts as produced all the same
//
// The other words of the two lines are for what it does in its latest turns (control_area.h). A process that
// has lent its data ends its turn when those who read them have consumed all, or have shown results of their
// last stage. Where it must end before, since somebody has died, it withdraws the loan, and who has read from
// it looks afterwards.
//
// A stage may be written when all others have consumed what lay in its place. The memory is larger than a
// second-level cache on purpose, for long stages: docs/notebook/copying.md, "cells are best reused late".
//
// Long collectives of a communicator go through their stages one after another, in the order in which they
// were called. Used under the library's lock. docs/design/memory_model.md argues the order of loads
// and stores.
#pragma once

#include <algorithm>
#include <cstdint>

#include "p2p/cell_filler.h"

namespace hearth::coll {

class ControlArea;

/// What a process says of data that it lends:
///
///   bit  63          47     0
///        | withdrawn | turn | offset in its window of the arena, + 1; 0: nothing is lent |
///
/// Withdrawn stays: nobody trusts that process again in this area.
struct Loan {
  static constexpr int kTurnShift = 47;
  static constexpr uint64_t kOffsets = (uint64_t{1} << kTurnShift) - 1;
  static constexpr uint64_t kWithdrawn = uint64_t{1} << 63;

  uint64_t word;

  static Loan of(uint64_t turn, uint64_t offset) { return {(turn & 0xffff) << kTurnShift | (offset + 1)}; }
  bool withdrawn() const { return (word & kWithdrawn) != 0; }
  bool is_of(uint64_t turn) const {
    return (word & kOffsets) != 0 && (word >> kTurnShift & 0xffff) == (turn & 0xffff);
  }
  uint64_t offset() const { return (word & kOffsets) - 1; }
};

class ChunkRing {
 public:
  explicit ChunkRing(ControlArea& area);

  enum class Word : uint8_t { contributed, reduced };

  // Turns.

  /// They count from 1.
  uint64_t take_turn() { return ++turns_taken_; }
  uint64_t turns_taken() const { return turns_taken_; }
  bool is_turn(uint64_t turn) const { return turn == turns_over_ + 1; }
  /// It is over here, and its last stage ended there. Not where one more would begin: with first_begin() of a
  /// longer stage that could be so far ahead that it waits for positions which nobody ever comes to.
  void end_turn(uint64_t position) {
    position_ = position;
    ++turns_over_;
  }

  // Positions.

  /// Where the first stage of this length begins in the turn that has just come, and the next one behind one
  /// that ended there. A stage does not go around the end of the memory, and short ones stay in its first
  /// part, so that the first time around, when each page is a fault for its writer and each of its readers,
  /// is soon over: a bcast of 1 KiB between two ranks took 7 us for the first thousand times, and 0.35
  /// afterwards. With longer ones the first part alone is slower, 1.4 us instead of 0.7 in a bcast of 8 KiB
  /// (development machine, November 2026).
  uint64_t first_begin(int64_t stage_bytes) const { return fit(position_, stage_bytes); }
  uint64_t fit(uint64_t position, int64_t stage_bytes) const {
    constexpr uint64_t kShortMax = 3 * 1024, kFirstPart = 64 * kShortMax;
    const auto bytes = static_cast<uint64_t>(stage_bytes);
    const uint64_t place = position % memory_bytes_;
    const uint64_t end = bytes <= kShortMax ? std::min(memory_bytes_, kFirstPart) : memory_bytes_;
    return place + bytes <= end ? position : position + memory_bytes_ - place;
  }
  /// The longest stage: several fit the memory.
  int64_t stage_bytes_max() const { return static_cast<int64_t>(memory_bytes_ / 4); }
  std::byte* place(int rank, uint64_t position) const;

  // Words.

  /// Whether all others have consumed what lay where a stage that ends there will lie; if not, `awaited` is
  /// one that has not.
  bool may_write(uint64_t end, int& awaited) {
    if (end <= consumed_by_all_ + memory_bytes_) return true;
    look_who_has_consumed(awaited);
    return end <= consumed_by_all_ + memory_bytes_;
  }
  /// Whether one rank, or all others (-1), have consumed everything up to there; if not, `awaited` has not.
  bool is_consumed(int by, uint64_t end, int& awaited);
  /// Shows to one rank, or all (-1), that the own chunk is filled up to there. Pairs with has_produced().
  void show_produced(Word word, uint64_t end, int to);
  bool has_produced(int rank, Word word, uint64_t end) const;
  /// Pairs with may_write().
  void show_consumed(uint64_t end);

  // Loans.

  /// Says where the own data of a turn lie, before any of them are shown; it may say nothing. Pairs with
  /// loan().
  void lend(Loan loan);
  /// Who reads from the loan after this, or while it happens, finds loan().withdrawn() afterwards.
  void withdraw_loan();
  /// Pre: has_produced() was true in this turn, or atomic::fence_acquire() came after reading.
  Loan loan(int rank) const;

  /// How the own chunks are written.
  p2p::CellFiller filler;

 private:
  void look_who_has_consumed(int& awaited);

  static constexpr size_t kLoan = 2;  // of ControlRow::produced

  ControlArea& area_;
  uint64_t memory_bytes_;
  uint64_t position_ = 0;
  uint64_t consumed_by_all_ = 0;
  uint64_t turns_taken_ = 0;
  uint64_t turns_over_ = 0;
  uint64_t shown_loan_ = 0;  // the word as it stands in the own row
};

}  // namespace hearth::coll
