// The bounce buffers of one sender: the cells of scalable-intranode-2006, section 3.2.2, through which
// long messages are copied in fragments. The owner fills a buffer; the receiver copies out of it and marks it
// free; only the owner takes marked buffers again ("mark and sweep"), so no lock is needed. Recycled buffers:
// a receiver may fill an emptied buffer with a message for the owner, which then marks it free
// (p2p/recycled_buffers.h).
//
//   owner:    take -> fill -> announce in a ring (release)      ... take again: mark seen (acquire)
//   receiver:                 see it (acquire) -> copy out -> mark + 1 (release)
//
// A mark counts how often the buffer was emptied. Only the process that holds the buffer writes it, usually
// the receiver; the owner counts how often it has sent the buffer, so it only reads the mark's line.
//
// A fragment takes a run of consecutive buffers; the mark of the first one counts. Runs are taken in cyclic
// order, so the memory unused for the longest time comes next. This is on purpose: a buffer that was just
// emptied is in the receiver's cache, and each store to it must invalidate a line there. If the pool is
// larger than an L2 cache, the buffer has moved to the shared cache before it is taken again, and writing it
// is twice as fast (docs/notebook/copying.md). Pages are allocated as the owner reaches them. The first
// use of a page costs more than a copy, so the first round covers a part of the pool, and the rounds grow
// with the traffic. A round whose buffers are all with receivers is extended earlier: at once for a message
// that begins, and for a sender with fragments in flight after some calls in vain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/segment.h"

namespace hearth::shm {

/// The longest run that may be taken from a pool of that many buffers: a quarter of it.
constexpr size_t run_bytes_max(size_t buffer_count, size_t buffer_bytes) {
  return std::max<size_t>(buffer_count / 4, 1) * buffer_bytes;
}

class BufferPool {
 public:
  BufferPool() = default;
  /// In a small job, the first pages are populated now instead of by the first long message.
  BufferPool(const Segment& segment, int owner);

  /// The first buffer of the next free run that holds this many bytes; -1 if too many buffers are with
  /// receivers, or if memory is short. With `gap`, an empty buffer follows a run that is long enough for the
  /// reader to prefetch beyond its end. -1 also if fewer than `bytes_left` bytes, or half of the pool, would
  /// remain free. After a -1 of a full pool, each call checks only some runs until one finds room. A
  /// `patient` sender gets memory that was never used only after some calls in vain.
  int take(size_t bytes, bool gap, size_t bytes_left, bool patient);
  /// Prefetches for write one more of the buffers to be taken next, up to `bytes_ahead`; false if none is
  /// left. Called while the owner is idle: an emptied buffer otherwise costs a cache miss per line.
  bool prefetch_for_write(size_t bytes_ahead);
  /// The number of this use of a run; valid right after take().
  uint32_t ticket(int buffer) const { return sent_[static_cast<size_t>(buffer)]; }
  /// Whether the receiver has emptied the run of this use; its buffers may have been taken again since. The
  /// acquire load pairs with mark_free().
  bool returned(int buffer, uint32_t ticket) const { return returned(*segment_, owner_, buffer, ticket); }

  std::byte* memory(int buffer) const;
  size_t run_bytes_max() const { return shm::run_bytes_max(sent_.size(), buffer_bytes_); }

  /// Returns a buffer of `owner`; called by the process that holds it.
  static void mark_free(const Segment& segment, int owner, int buffer);
  /// The number of the next use, if the process that holds the buffer fills it again.
  static uint32_t next_ticket(const Segment& segment, int owner, int buffer);
  static bool returned(const Segment& segment, int owner, int buffer, uint32_t ticket);

 private:
  // Memory is allocated, and the rounds are extended, in steps of this size. The first round has four.
  static constexpr size_t kStepBytes = size_t{64} << 10;

  size_t step() const { return std::max<size_t>(kStepBytes / buffer_bytes_, 1); }
  bool make_room(size_t buffers);
  void extend_cycle(size_t buffers);
  size_t free_tail() const;
  size_t end_of_run(size_t buffer, size_t limit) const;
  size_t first_busy(size_t first, size_t count) const;
  bool free_ahead(size_t next, size_t count) const;

  const Segment* segment_ = nullptr;
  int owner_ = 0;
  size_t buffer_bytes_ = 0;
  size_t turn_ = 0;    // next buffer to check
  size_t cycle_ = 0;   // buffers that the present round covers
  size_t ready_ = 0;   // buffers that have memory
  bool full_ = false;  // the last complete round found no room
  // Since the rounds were last extended: after as many buffers as a round has, it is extended again.
  size_t taken_ = 0;
  int calls_in_vain_ = 0;       // consecutive ones, the present one included
  size_t over_ = 0;             // buffers from turn_ to here have been prefetched for write
  std::vector<uint32_t> sent_;  // by first buffer: uses of a run; it is free when its mark has the same value
  std::vector<uint32_t> run_of_;  // by buffer: first buffer of the run that covered it last
};

}  // namespace hearth::shm
