#include "shm/buffer_pool.h"

#include <algorithm>
#include <limits>

#include "base/atomic.h"
#include "base/os_memory.h"
#include "shm/write_prefetch.h"

namespace hearth::shm {
namespace {

// A run of at least this length is followed by an empty buffer. The reader's processor prefetches beyond the
// end of such a run and would otherwise take lines from the owner that the owner is about to write. 16 KiB
// messages gain a fifth (docs/notebook/copying.md).
constexpr size_t kGuardedBytes = 8192;
// Runs that a call checks if the last complete round found no room. Without a limit, a sender of many
// messages that are not received yet would check the whole pool for each packet.
constexpr int kChecksWhenFull = 8;
// Calls in vain, some tens of nanoseconds each, before the rounds are extended for a patient sender.
constexpr int kCallsInVainMax = 256;

}  // namespace

BufferPool::BufferPool(const Segment& segment, int owner)
    : segment_(&segment),
      owner_(owner),
      buffer_bytes_(segment.geometry().buffer_bytes),
      sent_(segment.geometry().buffer_count, 0),
      run_of_(segment.geometry().buffer_count) {
  constexpr uint32_t kRanksMax = 16;
  for (size_t buffer = 0; buffer < run_of_.size(); ++buffer) run_of_[buffer] = static_cast<uint32_t>(buffer);
  cycle_ = std::min(4 * step(), sent_.size());
  if (segment.geometry().rank_count > kRanksMax || !make_room(1)) return;
  os::populate_pages(memory(0), ready_ * buffer_bytes_ / os::page_bytes() * os::page_bytes());
}

bool BufferPool::make_room(size_t buffers) {
  if (buffers <= ready_) return true;
  const size_t wanted = std::min(ready_ + std::max(buffers - ready_, step()), sent_.size());
  if (!segment_->reserve_buffers(owner_, static_cast<uint32_t>(ready_),
                                 static_cast<uint32_t>(wanted - ready_))) {
    return false;
  }
  ready_ = wanted;
  return true;
}

// The begin of the free buffers at the end of the round.
size_t BufferPool::free_tail() const {
  size_t buffer = cycle_;
  while (buffer > 0 && first_busy(buffer - 1, 1) == buffer) --buffer;
  return buffer;
}

void BufferPool::extend_cycle(size_t buffers) {
  cycle_ = std::min(cycle_ + std::max(buffers, step()), sent_.size());
  taken_ = 0;
  calls_in_vain_ = 0;
}

// The first buffer after those of `buffer`'s run, at most `limit`.
size_t BufferPool::end_of_run(size_t buffer, size_t limit) const {
  const uint32_t run = run_of_[buffer];
  while (buffer < limit && run_of_[buffer] == run) ++buffer;
  return buffer;
}

// The first of `count` buffers from `first` on that a receiver has not returned; `first + count` if there is
// none.
size_t BufferPool::first_busy(size_t first, size_t count) const {
  const size_t limit = first + count;
  for (size_t buffer = first; buffer < limit; buffer = end_of_run(buffer, limit)) {
    const uint32_t run = run_of_[buffer];
    if (!returned(static_cast<int>(run), sent_[run])) return buffer;
  }
  return limit;
}

// Whether `count` buffers from `next` on are free. Checks the last one: since runs are taken in cyclic order,
// the others were taken earlier, and most receivers return them in that order.
bool BufferPool::free_ahead(size_t next, size_t count) const {
  const size_t buffer = (next + count - 1) % sent_.size();
  return buffer >= ready_ || first_busy(buffer, 1) != buffer;
}

int BufferPool::take(size_t bytes, bool gap, size_t bytes_left, bool patient) {
  size_t count = std::max<size_t>((bytes + buffer_bytes_ - 1) / buffer_bytes_, 1);
  if (gap && bytes >= kGuardedBytes) ++count;
  const size_t left = std::min(bytes_left / buffer_bytes_, sent_.size() / 2);
  const bool may_extend =
      cycle_ < sent_.size() && (!patient || taken_ >= cycle_ || calls_in_vain_ >= kCallsInVainMax);
  int checks_left = full_ && !may_extend ? kChecksWhenFull : std::numeric_limits<int>::max();
  if (calls_in_vain_ < kCallsInVainMax) ++calls_in_vain_;
  // One round, and another one after each extension. Each step passes at least one buffer, and the end of a
  // round is reached at most twice.
  for (size_t passed = 0;;) {
    if (passed > cycle_ + count) {
      full_ = true;
      if (!may_extend || cycle_ == sent_.size()) return -1;
      turn_ = free_tail();
      extend_cycle(count);
    }
    // If memory is short, the pool keeps its present size.
    if (turn_ + count > cycle_ || !make_room(turn_ + count)) {
      if (turn_ == 0 && cycle_ == sent_.size()) return -1;
      passed += count;
      turn_ = 0;
      over_ = 0;
      if (taken_ >= cycle_ || count > cycle_) extend_cycle(0);
      continue;
    }
    const size_t busy = first_busy(turn_, count);
    if (busy < turn_ + count) {
      const size_t next = end_of_run(busy, run_of_.size());
      passed += next - turn_;
      turn_ = next;
      if (--checks_left == 0) return -1;
      continue;
    }
    if (left != 0 && !free_ahead(turn_ + count, left)) return -1;
    const size_t first = turn_;
    turn_ += count;
    // A longer run that began here before no longer covers the buffers after the new one.
    for (size_t buffer = turn_; buffer < run_of_.size() && run_of_[buffer] == first; ++buffer) {
      run_of_[buffer] = static_cast<uint32_t>(buffer);
    }
    std::fill_n(run_of_.begin() + static_cast<std::ptrdiff_t>(first), count, static_cast<uint32_t>(first));
    if (turn_ < ready_) __builtin_prefetch(&segment_->buffer_mark(owner_, run_of_[turn_]));
    ++sent_[first];
    taken_ += count;
    calls_in_vain_ = 0;
    full_ = false;
    return static_cast<int>(first);
  }
}

bool BufferPool::prefetch_for_write(size_t bytes_ahead) {
  if (!WritePrefetch::enabled()) return false;
  over_ = std::max(over_, turn_);
  if (over_ >= std::min({turn_ + bytes_ahead / buffer_bytes_, cycle_, ready_})) return false;
  if (first_busy(over_, 1) == over_) return false;
  std::byte* buffer = memory(static_cast<int>(over_++));
  // The owner has exclusive access to a free buffer, and its contents are no longer needed.
  for (size_t at = 0; at < buffer_bytes_; at += kLineBytes) {
    atomic::store_relaxed(*reinterpret_cast<uint64_t*>(buffer + at), uint64_t{0});
  }
  return true;
}

bool BufferPool::returned(const Segment& segment, int owner, int buffer, uint32_t ticket) {
  // Pairs with the release store in mark_free(). Both numbers count modulo 2^32.
  const uint32_t mark = atomic::load_acquire(segment.buffer_mark(owner, static_cast<uint32_t>(buffer)));
  return static_cast<int32_t>(mark - ticket) >= 0;
}

uint32_t BufferPool::next_ticket(const Segment& segment, int owner, int buffer) {
  return atomic::load_relaxed(segment.buffer_mark(owner, static_cast<uint32_t>(buffer))) + 1;
}

std::byte* BufferPool::memory(int buffer) const {
  return segment_->buffer_memory(owner_, static_cast<uint32_t>(buffer));
}

void BufferPool::mark_free(const Segment& segment, int owner, int buffer) {
  // Pairs with the acquire load in returned(): the reads of the buffer precede the owner's next writes.
  uint32_t& mark = segment.buffer_mark(owner, static_cast<uint32_t>(buffer));
  atomic::store_release(mark, atomic::load_relaxed(mark) + 1);
}

}  // namespace hearth::shm
