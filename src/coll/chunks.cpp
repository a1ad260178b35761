#include "coll/chunks.h"

#include "p2p/wait_note.h"

namespace hearth::coll {

bool has_chunks(const Schedule& schedule) {
  const ControlArea* area = schedule.area();
  return area != nullptr && chunks_suffice(area->size(), area->chunks(0).size());
}

ChunkStages::ChunkStages(Schedule& schedule) : area_(*schedule.area()), ring_(area_.chunk_ring()) {}

void ChunkStages::set_stages(int64_t stages, int64_t bytes) {
  // Where a reader's processor fetches ahead it must not take lines that are about to be written.
  constexpr int64_t kGapFrom = 8192;
  constexpr int64_t kGapBytes = 1024;
  constexpr int64_t kLine = shm::kLineBytes;
  stages_ = stages;
  stage_bytes_ = (bytes + (bytes >= kGapFrom ? kGapBytes : 0) + kLine - 1) / kLine * kLine;
}

void ChunkStages::begin() {
  turn_ = ring_.take_turn();
  begun_ = false;
  put_ = take_ = share_ = {};
  outcome = {};
}

bool ChunkStages::advance() {
  if (!ring_.is_turn(turn_)) return false;
  if (!begun_) {
    begun_ = true;
    put_.begin = take_.begin = share_.begin = ring_.first_begin(stage_bytes_);
  }
  const Cursor& last = part_.shares ? share_ : take_;
  while (last.stage < stages_) {
    bool moved = put_.stage < stages_ && advance_put();
    if (take_.stage < put_.stage) moved |= advance_take();
    if (part_.shares && share_.stage < take_.stage) moved |= advance_share();
    if (!moved) return false;
  }
  ring_.end_turn(last.begin);
  return true;
}

void ChunkStages::describe(p2p::WaitNote& note) const {
  if (!begun_) return;  // an earlier one of this communicator is under way
  // All that have not put what is taken next; else it is room or a result that is missing.
  bool found = false;
  for (int way = take_.way; take_.stage < put_.stage && part_.takes && way < area_.size(); ++way) {
    const int from = (rank() + way) % area_.size();
    if (!takes_from(take_.stage, from)) continue;
    if (ring_.has_produced(from, ChunkRing::Word::contributed, end(take_))) continue;
    note.missing(area_.process(from));
    found = true;
  }
  if (!found) note.missing(awaited);
}

bool ChunkStages::advance_put() {
  if (part_.puts) {
    int late = 0;
    if (!ring_.may_write(end(put_), late)) return wait_for(late);
    if (put(put_.stage, ring_.place(rank(), put_.begin))) {
      ring_.show_produced(ChunkRing::Word::contributed, end(put_), part_.reader);
      after_put(put_.stage);
    }
  }
  next_stage(put_);
  return true;
}

bool ChunkStages::advance_take() {
  bool moved = false;
  for (; part_.takes && take_.way < size(); ++take_.way) {
    const int from = (rank() + take_.way) % size();
    if (!takes_from(take_.stage, from)) continue;
    if (!ring_.has_produced(from, part_.taken, end(take_))) {
      wait_for(from);
      return moved;
    }
    take(take_.stage, from, ring_.place(from, take_.begin));
    moved = true;
  }
  if (part_.takes && reduce(take_.stage, take_.begin)) {
    ring_.show_produced(ChunkRing::Word::reduced, end(take_), part_.result_reader);
  }
  if (!part_.shares) ring_.show_consumed(end(take_));
  next_stage(take_);
  return true;
}

bool ChunkStages::advance_share() {
  bool moved = false;
  for (; share_.way < size(); ++share_.way) {
    const int from = (rank() + share_.way) % size();
    if (!shares_from(share_.stage, from)) continue;
    if (!ring_.has_produced(from, ChunkRing::Word::reduced, end(share_))) {
      wait_for(from);
      return moved;
    }
    share(share_.stage, from, ring_.place(from, share_.begin));
    moved = true;
  }
  ring_.show_consumed(end(share_));
  next_stage(share_);
  return true;
}

}  // namespace hearth::coll
