#include "coll/chunk_ring.h"

#include "base/atomic.h"
#include "base/chaos.h"
#include "coll/control_area.h"
#include "coll/footprint.h"

namespace hearth::coll {

ChunkRing::ChunkRing(ControlArea& area)
    : filler(p2p::store_choice()), area_(area), memory_bytes_(area.chunks(area.rank()).size()) {}

std::byte* ChunkRing::place(int rank, uint64_t position) const {
  return area_.chunks(rank).data() + position % memory_bytes_;
}

void ChunkRing::look_who_has_consumed(int& awaited) {
  uint64_t least = UINT64_MAX;
  for (int rank = 0; rank < area_.size(); ++rank) {
    if (rank == area_.rank()) continue;
    // Pairs with show_consumed(): the data that are overwritten now were read before.
    const uint64_t consumed = atomic::load_acquire(area_.row(rank).consumed[0]);
    footprint::reads(area_.row(rank).consumed, sizeof consumed);
    if (consumed >= least) continue;
    least = consumed;
    awaited = rank;
  }
  consumed_by_all_ = least;
}

bool ChunkRing::is_consumed(int by, uint64_t end, int& awaited) {
  if (by < 0) {
    if (consumed_by_all_ < end) look_who_has_consumed(awaited);
    return consumed_by_all_ >= end;
  }
  awaited = by;
  // Pairs with show_consumed(): the exposed data may change now.
  return atomic::load_acquire(area_.row(by).consumed[0]) >= end;
}

void ChunkRing::lend(Loan loan) {
  const uint64_t next = loan.word | (shown_loan_ & Loan::kWithdrawn);
  if (next == shown_loan_) return;
  shown_loan_ = next;
  // Pairs with loan(): show_produced() follows.
  atomic::store_release(area_.own_row().produced[kLoan], next);
}

void ChunkRing::withdraw_loan() {
  shown_loan_ |= Loan::kWithdrawn;
  atomic::store_relaxed(area_.own_row().produced[kLoan], shown_loan_);
  // A reader that sees data that the program stores there from now on also sees the changed word.
  atomic::fence_release();
}

Loan ChunkRing::loan(int rank) const {
  return {atomic::load_acquire(area_.row(rank).produced[kLoan])};
}

void ChunkRing::show_produced(Word word, uint64_t end, int to) {
  chaos::at(chaos::Point::chunk_half_written);
  uint64_t& shown = area_.own_row().produced[static_cast<size_t>(word)];
  atomic::store_release(shown, end);
  footprint::writes(&shown, sizeof shown);
  chaos::at(chaos::Point::chunk_shown);
  to >= 0 ? area_.ring(to) : area_.ring_all();
}

bool ChunkRing::has_produced(int rank, Word word, uint64_t end) const {
  const uint64_t& shown = area_.row(rank).produced[static_cast<size_t>(word)];
  if (atomic::load_acquire(shown) < end) return false;
  footprint::reads(&shown, sizeof shown);
  return true;
}

void ChunkRing::show_consumed(uint64_t end) {
  chaos::at(chaos::Point::collective_ends);
  atomic::store_release(area_.own_row().consumed[0], end);
  footprint::writes(area_.own_row().consumed, sizeof end);
  area_.ring_all();
}

}  // namespace hearth::coll
