#include "coll/pipeline.h"

#include "base/chaos.h"
#include "base/param.h"
#include "coll/mismatch.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::coll {

bool has_pipeline(const Schedule& schedule) {
  const CollectiveRegion* region = schedule.region();
  return region != nullptr && pipeline_suffices(region->size(), region->pipeline_buffers(0).size());
}

PipelineStages::PipelineStages(Schedule& schedule)
    : region_(*schedule.region()), ring_(region_.pipeline_ring()) {}

void PipelineStages::set_stages(int64_t stages, int64_t bytes) {
  // A gap between stages, so that a reader's hardware prefetcher does not fetch lines that are about to be
  // written: an allreduce of 1 KiB between near ranks takes 245 ns, and 330 ns without the gap (development
  // machine, November 2026).
  constexpr int64_t kGapBytes = 1024;
  constexpr int64_t kLine = shm::kLineBytes;
  stages_ = stages;
  stage_bytes_ = (bytes + kGapBytes + kLine - 1) / kLine * kLine;
}

void PipelineStages::begin() {
  region_.arena_access().publish_reads();
  generation_ = ring_.begin_generation();
  small_begun_ = region_.small_begun();
  has_published_call_ = false;
  if (!part_.puts) publish_call();  // no rank waits for a counter in that cache line
  begun_ = false;
  put_ = take_ = share_ = {};
  outcome = {};
}

bool PipelineStages::advance() {
  if (!ring_.is_current(generation_)) return false;
  if (!begun_) {
    begun_ = true;
    put_.begin = take_.begin = share_.begin = consumed_ = ring_.first_begin(stage_bytes_);
    expose_data();
  }
  const Cursor& last = part_.shares ? share_ : take_;
  while (last.stage < stages_) {
    bool moved = put_.stage < stages_ && advance_put();
    if (take_.stage < put_.stage) moved |= advance_take();
    if (part_.shares && share_.stage < take_.stage) moved |= advance_share();
    if (!moved) return false;
  }
  if (int late = 0; is_still_read(late)) return wait_for(late);
  end_generation(consumed_);
  return true;
}

// Whether other ranks may still read the data that this rank exposes. A rank that has the results of all
// other ranks knows that they have finished: each rank published its result after it had read all the data
// that it needed.
bool PipelineStages::is_still_read(int& awaited_rank) {
  return exposes_ && !part_.shares && !ring_.is_consumed(part_.reader, consumed_, awaited_rank);
}

// Exposes the own data if they are long. For short data, two copies cost less than waiting for the readers. A
// rank that needs no data from others, such as the root of a broadcast, may run far ahead of them through
// pipeline buffers, so its minimum length is higher.
void PipelineStages::expose_data() {
  constexpr int64_t kLongerAhead = 8;
  const bool runs_ahead = !part_.takes || kind_ == Collective::scan;
  const auto least = static_cast<int64_t>(param::get_bytes(param::Id::coll_expose_bytes_min));
  uint64_t offset = 0;
  exposes_ = offered_.bytes >= (runs_ahead ? kLongerAhead * least : least) &&
             region_.arena_access().expose(offered_.place, offered_.bytes, offset);
  ring_.publish_exposure(exposes_ ? ZeroCopyExposure::of(generation_, offset) : ZeroCopyExposure{0});
}

void PipelineStages::end_generation(uint64_t position) {
  ring_.end_generation(position);
  region_.arena_access().end();
}

const std::byte* PipelineStages::source(int from, uint64_t begin, int64_t in_stage, int64_t in_all,
                                        int64_t bytes) {
  const ZeroCopyExposure exposure = ring_.exposure(from);
  reads_exposed_ |= exposure.word != 0;
  if (!exposure.is_of(generation_)) return ring_.place(from, begin) + in_stage;
  chaos::at(chaos::Point::exposure_found);
  return region_.arena_access().exposed_by(from, exposure.offset() + static_cast<uint64_t>(in_all), bytes);
}

// Call after reading exposed data: false if an exposure was withdrawn, so that the data may have been
// overwritten before they were read. Not needed after reading pipeline buffers, where it would be expensive:
// the rank runs ahead and may have written to the line of that word, and fetching the line again costs as
// much as a short collective.
bool PipelineStages::exposures_valid() {
  if (__builtin_expect(!reads_exposed_, 1)) return true;
  atomic::fence_acquire();
  for (int way = 1; way < size(); ++way) {
    const int from = (rank() + way) % size();
    // This process also learns the cause of the withdrawal, and checks for it while it waits.
    if (takes_from(take_.stage, from) && ring_.exposure(from).withdrawn()) return wait_for(from);
  }
  reads_exposed_ = false;
  return true;
}

void PipelineStages::describe(p2p::WaitDiagnostics& note) const {
  if (!begun_) return;  // an earlier collective of this communicator is not complete
  // Reports all ranks that have not put the data of the next take phase. If there is none, room or a result
  // is missing: reports the awaited rank.
  bool found = false;
  for (int way = take_.way; take_.stage < put_.stage && part_.takes && way < region_.size(); ++way) {
    const int from = (rank() + way) % region_.size();
    if (!takes_from(take_.stage, from)) continue;
    if (ring_.has_produced(from, PipelineRing::Word::contributed, end(take_))) continue;
    note.missing(region_.process(from));
    found = true;
  }
  if (!found) note.missing(awaited);
}

// Detects a collective mismatch: the awaited rank is in a small collective at this position, or in a long one
// of another kind or length. Headers that are no longer kept count as matching.
bool PipelineStages::check_failure() {
  if (!begun_) return false;  // an earlier collective checks
  if (const Status failure = region_.failure(); !failure.ok()) {
    outcome = failure;
    ring_.withdraw_exposure();
    end_generation(put_.begin);
    return true;
  }
  const int rank = awaited_rank_;
  if (region_.is_out_of_step(rank) || region_.is_out_of_step(region_.rank())) {
    return give_up(region_.fall_out_of_step(rank));
  }
  const MismatchedCall own{region_.rank(), kind_, agreed_bytes_};
  CallHeader long_call;
  if (region_.poll_call(rank, generation_, long_call)) {
    if (!has_other_header(rank)) return false;
    return give_up(region_.fall_out_of_step({rank, long_call.kind(), long_call.bytes()}, own));
  }
  const shm::CollectiveSlot* slot;
  SlotHeader header;
  if (!region_.poll(rank, small_begun_ + 1, slot, header) || !header.is_after(generation_ - 1)) return false;
  return give_up(region_.fall_out_of_step({rank, header.kind(), header.bytes()}, own));
}

bool PipelineStages::has_other_header(int rank) const {
  CallHeader long_call;
  return region_.poll_call(rank, generation_, long_call) &&
         long_call.word != call_header_of(generation_, small_begun_, kind_, agreed_bytes_).word;
}

void PipelineStages::publish_call() {
  has_published_call_ = true;
  region_.publish_call(call_header_of(generation_, small_begun_, kind_, agreed_bytes_));
}

// Publishes the header together with the first counter, so that the cache line moves to its readers once:
// publishing it at the start cost 90 to 180 ns of 740 ns in an allreduce of 1 KiB between far ranks.
void PipelineStages::publish_produced(PipelineRing::Word word, uint64_t end, int to) {
  if (!has_published_call_) publish_call();
  ring_.publish_produced(word, end, to);
}

bool PipelineStages::give_up(Status status) {
  if (outcome.ok()) outcome = status;
  ring_.withdraw_exposure();
  end_generation(put_.begin);
  return true;
}

// Exposed data need no room in the buffer, and readers may begin with any part of them.
void PipelineStages::put_everything() {
  uint64_t last = put_.begin;
  for (; put_.stage < stages_; next_stage(put_)) last = end(put_);
  publish_produced(PipelineRing::Word::contributed, last, part_.reader);
  for (int64_t stage = 0; stage < stages_; ++stage) after_put(stage);
}

bool PipelineStages::advance_put() {
  if (exposes_) {
    put_everything();
    return true;
  }
  if (part_.puts) {
    int late = 0;
    if (!ring_.may_write(end(put_), late)) return wait_for(late);
    if (put(put_.stage, ring_.place_to_write(put_.begin, end(put_)))) {
      publish_produced(PipelineRing::Word::contributed, end(put_), part_.reader);
      after_put(put_.stage);
    }
  }
  next_stage(put_);
  return true;
}

bool PipelineStages::advance_take() {
  // A rank that has put its data has room for its results in the same stage. A rank that exposes its data
  // must check for room before it has results.
  if (int late = 0; exposes_ && !ring_.may_write(end(take_), late)) return wait_for(late);
  bool moved = false;
  for (; part_.takes && take_.way < size(); ++take_.way) {
    const int from = (rank() + take_.way) % size();
    if (!takes_from(take_.stage, from)) continue;
    if (!ring_.has_produced(from, part_.taken, end(take_))) {
      wait_for(from);
      return moved;
    }
    // Check the header before reading the first byte. It is in the same cache line as the counter, so it
    // costs no transfer.
    if (take_.stage == 0 && __builtin_expect(has_other_header(from), 0)) return wait_for(from);
    take(take_.stage, from, take_.begin);
    moved = true;
  }
  const bool has_result = part_.takes && reduce(take_.stage, take_.begin);
  if (!exposures_valid()) return false;
  if (has_result) publish_produced(PipelineRing::Word::reduced, end(take_), part_.result_reader);
  if (!part_.shares) publish_consumed(end(take_));
  next_stage(take_);
  return true;
}

bool PipelineStages::advance_share() {
  bool moved = false;
  for (; share_.way < size(); ++share_.way) {
    const int from = (rank() + share_.way) % size();
    if (!shares_from(share_.stage, from)) continue;
    if (!ring_.has_produced(from, PipelineRing::Word::reduced, end(share_))) {
      wait_for(from);
      return moved;
    }
    share(share_.stage, from, ring_.place(from, share_.begin));
    moved = true;
  }
  publish_consumed(end(share_));
  next_stage(share_);
  return true;
}

}  // namespace hearth::coll
