#include "coll/control_area.h"

#include <bit>
#include <new>

#include "base/check.h"

namespace hearth::coll {
namespace {

using objects::Comm;
using objects::kNoArea;

// Lives as long as the process is attached to its job.
const shm::Segment* the_segment = nullptr;

/// Sets the first bit that is not; -1 when all are. Pairs with the release in give_back().
int32_t take_bit(uint64_t& word, uint32_t bits) {
  for (uint64_t seen = atomic::load_acquire(word);;) {
    const auto free = static_cast<uint32_t>(std::countr_one(seen));
    if (free >= bits) return kNoArea;
    if (atomic::compare_exchange(word, seen, seen | uint64_t{1} << free)) return static_cast<int32_t>(free);
    seen = atomic::load_acquire(word);
  }
}

void give_back(const shm::Segment& segment, int32_t area) {
  atomic::fetch_and(segment.job().areas_taken, ~(uint64_t{1} << area));
}

/// Pre: all have left.
void clear_rows(const shm::Segment& segment, int32_t area) {
  int first = 0;
  for (uint64_t& word : segment.used_rows(area)) {
    for (uint64_t bits = word; bits != 0; bits &= bits - 1) {
      segment.control_row(area, first + std::countr_zero(bits)) = {};
    }
    word = 0;
    first += 64;
  }
}

}  // namespace

void ControlArea::set_up(const shm::Segment& segment) {
  the_segment = &segment;
  objects::leave_area = [](Comm& comm) {
    delete comm.control;
    comm.control = nullptr;
    leave(comm.area);
  };
}

int32_t ControlArea::take(int members) {
  if (the_segment == nullptr || members < 2) return kNoArea;
  const shm::Segment& segment = *the_segment;
  const int32_t area = take_bit(segment.job().areas_taken, segment.job().area_count);
  if (area == kNoArea) return kNoArea;
  if (!segment.reserve_area(area)) {
    give_back(segment, area);
    return kNoArea;
  }
  // The others learn the number from us afterwards.
  atomic::store_relaxed(segment.area(area).members, static_cast<uint32_t>(members));
  return area;
}

void ControlArea::leave(int32_t area) {
  if (area == kNoArea) return;
  const shm::Segment& segment = *the_segment;
  // Pairs with the same line of those who left before: their loads and stores in the area come first.
  if (atomic::fetch_add(segment.area(area).members, ~0u) != 1) return;
  clear_rows(segment, area);
  give_back(segment, area);
}

ControlArea* ControlArea::enter(Comm& comm) {
  comm.control = new (std::nothrow) ControlArea(comm, *the_segment);
  // The others count on this process to meet them there.
  HEARTH_CHECK(comm.control != nullptr);
  return comm.control;
}

ControlArea::ControlArea(Comm& comm, const shm::Segment& segment)
    : rank_(comm.rank),
      size_(comm.size),
      peers_(comm.group->peers.data()),
      segment_(segment),
      area_(comm.area) {
  for (const objects::PeerIndex process : comm.group->peers) {
    rows_.push_back(&segment.control_row(area_, process));
    bells_.emplace_back(segment, process);
  }
  own_ = rows_[static_cast<size_t>(rank_)];
  const auto self = static_cast<size_t>(peers_[rank_]);
  atomic::fetch_or(segment.used_rows(area_)[self / 64], uint64_t{1} << (self % 64));
}

std::span<std::byte> ControlArea::chunks(int rank) const {
  return segment_.chunks(area_, peers_[rank]);
}

bool ControlArea::reserve_chunks() {
  if (!has_chunks_) has_chunks_ = segment_.reserve_chunks(area_, peers_[rank_]);
  return has_chunks_;
}

void ControlArea::ring_all() const {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_) ring(rank);
  }
}

}  // namespace hearth::coll
