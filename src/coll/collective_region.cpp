#include "coll/collective_region.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <new>

#include "base/check.h"
#include "base/param.h"
#include "mpi-ext.h"
#include "p2p/engine.h"
#include "tune/threshold.h"

namespace hearth::coll {
namespace {

using objects::Comm;

const shm::Segment& node_segment() {
  return shm::node().segment();
}

int local_rank_of(objects::PeerIndex process) {
  return shm::node().local_rank_of(process);
}

/// The processes that can share a region.
std::span<const objects::PeerIndex> members_of(const Comm& comm) {
  const objects::Machines* machines = comm.group->machines.get();
  return machines == nullptr ? std::span(comm.group->peers) : machines->peers_on(machines->own);
}

/// Maximum length of a rank's data in hierarchical slots; -1 for collectives that do not support them.
int64_t longest_in_groups(Collective collective, int ranks) {
  switch (collective) {
    case Collective::barrier:
    case Collective::bcast:
    case Collective::reduce:
    case Collective::allreduce:
      return shm::kSlotPayloadBytes;
    case Collective::allgather:
      return shm::kSlotPayloadBytes / Hierarchy::group_ranks_max(ranks);
    default:
      return -1;
  }
}

}  // namespace

void use_regions(RegionPool& pool) {
  process_region_pool = &pool;
  objects::leave_region = [](Comm& comm) {
    delete comm.region_view;
    delete comm.machine_region_view;
    comm.region_view = comm.machine_region_view = nullptr;
    region_pool().leave(comm.region, local_rank_of(comm.group->peers[static_cast<size_t>(comm.rank)]));
  };
  objects::close_region = [](Comm& comm) {
    if (comm.region_view != nullptr) comm.region_view->disable();
    if (comm.machine_region_view == nullptr) return;
    comm.machine_region_view->disable();
    comm.machine_region_view->publish_death();
  };
  // Processes on other machines use no region of this segment.
  objects::leave_regions_of = [](objects::PeerIndex process) {
    if (const int local_rank = local_rank_of(process); local_rank >= 0) region_pool().note_death(local_rank);
  };
  objects::leave_regions_without_id = [] { region_pool().leave_without_id(); };
}

void CollectiveRegion::close(CollectiveRegion* view) {
  const int32_t region = view->region_;
  const int local_rank = local_rank_of(view->peers_[view->rank_]);
  delete view;
  region_pool().leave(region, local_rank);
}

CollectiveRegion* CollectiveRegion::enter(Comm& comm, CollectiveRegion*& view, int32_t region) {
  view = new CollectiveRegion(comm, node_segment(), region);
  return view;
}

CollectiveRegion::CollectiveRegion(Comm& comm, const shm::Segment& segment, int32_t region)
    : comm_(comm),
      context_(comm.context),
      rank_(comm.group->machines == nullptr ? comm.rank : comm.group->machines->place),
      size_(static_cast<int>(members_of(comm).size())),
      peers_(members_of(comm).data()),
      segment_(segment),
      region_(region),
      index_(RegionPool::index_of(region)),
      pipeline_ring_(*this, !shares_processors()),
      arena_access_(*this, shm::node().arena()) {
  if (!segment.open_pipeline_buffers(index_)) throw std::bad_alloc();
  for (const objects::PeerIndex process : members_of(comm)) {
    rank_slots_.push_back(&segment.rank_slots(index_, local_rank_of(process)));
    wake_words_.emplace_back(segment, local_rank_of(process));
    if (has_overflow_buffers())
      overflow_buffers_.push_back(segment.overflow_buffers(index_, local_rank_of(process)));
  }
  update_limits();
  own_ = rank_slots_[static_cast<size_t>(rank_)];
  const auto self = static_cast<size_t>(local_rank_of(peers_[rank_]));
  atomic::fetch_or(segment.used_slots(index_)[self / 64], uint64_t{1} << (self % 64));
}

bool CollectiveRegion::shares_processors() const {
  return segment_.geometry().rank_count > segment_.job().usable_processors;
}

void CollectiveRegion::update_limits() {
  if (comm_.failure != 0) return disable();
  const bool flat = flat_slots_pay(size_, tune::limit(param::Id::coll_flat_ranks_max), shares_processors());
  whole_bytes_max_ = coll::whole_bytes_max(size_, shares_processors());
  prefetches_ = !shares_processors();
  const bool same_bits = param::get_flag(param::Id::coll_same_bits);
  for (size_t i = 0; i < std::size(flat_bytes_max_); ++i) {
    const auto collective = static_cast<Collective>(i);
    const char* wished = wished_algorithm(collective, context_);
    // The algorithm `machines` is composed of the others.
    if (wished != nullptr && std::strcmp(wished, "machines") == 0) wished = nullptr;
    // Groups combine ranks in a different order from the other algorithms.
    const bool one_order =
        same_bits && (collective == Collective::reduce || collective == Collective::allreduce);
    const auto takes = [wished](const char* name, bool pays) {
      return wished != nullptr ? std::strcmp(wished, name) == 0 : pays;
    };
    const bool groups = size_ > 2 && !one_order && takes("tree", !flat);
    flat_bytes_max_[i] =
        takes("flat", flat || one_order)
            ? published_bytes_max(collective, has_overflow_buffers(), shares_processors(), whole_bytes_max_)
            : -1;
    tree_bytes_max_[i] = groups ? longest_in_groups(collective, size_) : -1;
  }
}

// By stores: prefetchw does not fetch lines on all processors (docs/notebook/messages.md).
void CollectiveRegion::store_to_next(uint32_t number, int64_t bytes, std::pair<int64_t, int64_t> unread) {
  const uint32_t next = number + 1;
  // Data of later collectives that have begun may be there, or data that a rank still reads.
  if (number != begun_ || next - done_by_all_ > shm::kCollectiveSlots) return;
  std::byte* const data = overflow_buffer(rank_, next);
  write_prefetch_.run([&] {
    for (int64_t at = 0; at < bytes; at += shm::kLineBytes) {
      const bool skipped =
          at >= unread.first && at + int64_t{shm::kLineBytes} <= unread.first + unread.second;
      if (!skipped) atomic::store_relaxed(*reinterpret_cast<uint64_t*>(data + at), uint64_t{0});
    }
    uint64_t& header = own_slot(next).word;
    atomic::store_relaxed(header, atomic::load_relaxed(header));
    return true;
  });
}

void CollectiveRegion::disable() {
  std::fill(std::begin(flat_bytes_max_), std::end(flat_bytes_max_), -1);
  std::fill(std::begin(tree_bytes_max_), std::end(tree_bytes_max_), -1);
}

Status CollectiveRegion::failed() const {
  return p2p::engine().failures().failure_of(comm_);
}

const Hierarchy& CollectiveRegion::make_hierarchy(bool by_place) {
  std::vector<shm::RankPlace> places;
  for (int rank = 0; rank < size_; ++rank) places.push_back(segment_.rank(local_rank_of(peers_[rank])).place);
  std::unique_ptr<Hierarchy>& groups = hierarchies_[by_place ? 1 : 0];
  groups = std::make_unique<Hierarchy>(by_place ? Hierarchy::by_place(places, rank_)
                                                : Hierarchy::by_rank(size_, rank_));
  return *groups;
}

bool CollectiveRegion::update_done_by_all(uint32_t number, objects::PeerIndex& awaited) {
  auto lag = static_cast<int32_t>(number - done_);
  awaited = peers_[rank_];
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    // Pairs with the release in publish_done(). A negative lag means that the rank is ahead of this one.
    const auto distance = static_cast<int32_t>(number - atomic::load_acquire(rank_slots(rank).done));
    access_counters::reads(&rank_slots(rank).done, sizeof rank_slots(rank).done);
    if (distance <= lag) continue;
    lag = distance;
    awaited = peers_[rank];
  }
  done_by_all_ = number - static_cast<uint32_t>(lag);
  return lag <= static_cast<int32_t>(shm::kCollectiveSlots);
}

// If a process on another machine dies, the other ranks of this machine may detect it later or never, because
// they wait only for this rank.
void CollectiveRegion::publish_death() {
  if (comm_.failure != MPIX_ERR_PROC_FAILED) return;
  const objects::Peers& peers = comm_.group->peers;
  const auto dead = std::find_if(peers.begin(), peers.end(), [](objects::PeerIndex process) {
    return p2p::engine().failures().is_dead(process);
  });
  if (dead != peers.end()) publish_out_of_step(PublishedMismatch::death_of(*dead), {});
}

// A death may explain the mismatch: a rank that knows of it takes another path than a rank that does not.
Status CollectiveRegion::death_before() const {
  static_cast<void>(p2p::engine().failure_handler().poll());
  return failed();
}

Status CollectiveRegion::fall_out_of_step(const MismatchedCall& other, const MismatchedCall& own) {
  HEARTH_TRY(death_before());
  publish_out_of_step(PublishedMismatch::of(other), PublishedMismatch::of(own));
  return mismatch_error(other, own);
}

Status CollectiveRegion::fall_out_of_step(int rank) {
  HEARTH_TRY(death_before());
  for (const int marked : {rank_, rank}) {
    const PublishedMismatch why{
        is_out_of_step(marked) ? atomic::load_relaxed(rank_slots(marked).consumed[kSeen]) : 0};
    if (!why.is_death()) continue;
    publish_out_of_step(why, {});
    return died_elsewhere(why.dead());
  }
  const bool was_out_of_step = is_out_of_step(rank_);
  const bool has_left = is_out_of_step(rank);  // acquires the reason
  const PublishedMismatch seen{has_left ? atomic::load_relaxed(rank_slots(rank).consumed[kSeen]) : 0};
  const PublishedMismatch own{has_left ? atomic::load_relaxed(rank_slots(rank).consumed[kOwn]) : 0};
  publish_out_of_step(seen, own);
  if (was_out_of_step || seen.word == 0) return out_of_step(rank);
  return mismatch_elsewhere(seen.what(), own.what(), rank_);
}

// Publishes the first reason only, because other ranks may be reading it.
void CollectiveRegion::publish_out_of_step(PublishedMismatch seen, PublishedMismatch own) {
  if (!is_out_of_step(rank_)) {
    atomic::store_relaxed(own_->consumed[kSeen], seen.word);
    atomic::store_relaxed(own_->consumed[kOwn], own.word);
    atomic::store_release(own_->consumed[kOutOfStep], uint64_t{1});
  }
  wake_all();
}

void CollectiveRegion::end_out_of_order(uint32_t number) {
  const uint32_t ahead = number - done_ - 1;
  HEARTH_DCHECK(ahead < 64);
  ended_ |= uint64_t{1} << ahead;
  const int run = std::countr_one(ended_);
  done_ += static_cast<uint32_t>(run);
  ended_ = run < 64 ? ended_ >> run : 0;
}

// Called every few collectives only: a waiting rank has used the remaining slots in the meantime.
void CollectiveRegion::publish_done() {
  done_published_ = done_;
  // Pairs with the acquire in update_done_by_all(): all reads of other rows come before.
  atomic::store_release(own_->done, done_);
  access_counters::writes(&own_->done, sizeof own_->done);
  wake_all();
}

int CollectiveRegion::place(int rank) const {
  return local_rank_of(peers_[rank]);
}

std::span<std::byte> CollectiveRegion::pipeline_buffers(int rank) const {
  return segment_.pipeline_buffers(index_, local_rank_of(peers_[rank]));
}

void CollectiveRegion::wake_all() const {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_) wake(rank);
  }
}

}  // namespace hearth::coll
