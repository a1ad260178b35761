#include "coll/collective_region.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <new>

#include "base/check.h"
#include "base/param.h"
#include "mpi-ext.h"
#include "p2p/engine.h"
#include "shm/corruption.h"
#include "tune/threshold.h"

namespace hearth::coll {
namespace {

using objects::Comm;
using objects::kNoRegion;
using shm::RegionState;

/// By region: 1 + the last generation whose id this process received.
std::array<uint64_t, shm::kRegionsMax> the_known_generations;
/// By local rank, as bits: processes known to be dead.
std::vector<uint64_t> the_dead;

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

std::span<uint64_t> states() {
  return std::span(node_segment().job().regions).first(node_segment().geometry().region_count);
}
RegionState state_of(int region) {
  return {atomic::load_acquire(states()[static_cast<size_t>(region)])};
}
bool change(int region, RegionState seen, RegionState next) {
  return atomic::compare_exchange(states()[static_cast<size_t>(region)], seen.word, next.word);
}

// A region id: index + kRegionsMax * low bits of the generation. An id that is 2^25 generations old would
// pass for a current one.
constexpr uint32_t kIdGenerations = uint32_t{1} << 25;
static_assert(uint64_t{kIdGenerations} * shm::kRegionsMax == uint64_t{1} << 31);

int32_t region_id_of(int region, RegionState state) {
  return static_cast<int32_t>(state.generation() % kIdGenerations * shm::kRegionsMax) + region;
}

/// Whether a process may still use a region. While a process lives, only that process clears its bit. If the
/// bit is read as set and then the state is read, the state has the generation of the bit, because the
/// generation lasts until the bit is cleared.
struct Bit {
  Bit(int region, int place)
      : word(node_segment().present(region)[static_cast<size_t>(place) / 64]),
        bit(uint64_t{1} << (place % 64)) {}
  bool is_set() const { return (atomic::load_acquire(word) & bit) != 0; }
  /// True in exactly one of several concurrent calls.
  bool clear() const { return is_set() && (atomic::fetch_and(word, ~bit) & bit) != 0; }

  uint64_t& word;
  const uint64_t bit;
};

/// Claims the first free region; kNoRegion if `most` regions are taken. Pairs with the release in
/// give_back().
int claim(uint32_t most, int own_place) {
  for (;;) {
    int found = kNoRegion;
    RegionState seen = {};
    uint32_t taken = 0;
    for (int region = 0; region < static_cast<int>(states().size()); ++region) {
      const RegionState state = state_of(region);
      if (state.stage() != RegionState::kFree) {
        ++taken;
      } else if (found == kNoRegion) {
        found = region;
        seen = state;
      }
    }
    if (found == kNoRegion || taken >= most) return kNoRegion;
    if (change(found, seen, seen.next_generation().at(RegionState::kTaking, own_place))) return found;
  }
}

/// Called by the process that allocates or clears the region.
void give_back(int region) {
  const RegionState state = state_of(region);
  atomic::store_release(states()[static_cast<size_t>(region)], state.at(RegionState::kFree, 0).word);
}

/// Clears and frees a region whose state is still `seen`. If several processes call this, one succeeds.
void clear(int region, RegionState seen, int own_place) {
  const shm::Segment& segment = node_segment();
  if (!change(region, seen, seen.at(RegionState::kClearing, own_place))) return;
  chaos::at(chaos::Point::region_clearing);
  // A process that died during allocation may not have reserved the memory. If it cannot be reserved now,
  // there is nothing to clear.
  if (seen.stage() != RegionState::kTaking || segment.reserve_region(region)) {
    int first = 0;
    for (uint64_t& word : segment.used_slots(region)) {
      for (uint64_t bits = word; bits != 0; bits &= bits - 1) {
        segment.rank_slots(region, first + std::countr_zero(bits)) = {};
      }
      word = 0;
      first += 64;
    }
    for (uint64_t& word : segment.present(region)) atomic::store_relaxed(word, uint64_t{0});
    for (uint64_t& word : segment.counted(region)) atomic::store_relaxed(word, uint64_t{0});
  }
  give_back(region);
}

/// Called after leaving, and after the death of a process that may have been about to call it.
void clear_if_left(int region, int own_place) {
  // Of two processes that leave at the same time, at least one sees that both have left.
  atomic::fence_full();
  const RegionState state = state_of(region);
  if (state.stage() != RegionState::kUsed) return;
  // Pairs with leave(): accesses of the leaving processes happen before.
  for (const uint64_t& word : node_segment().present(region)) {
    if (atomic::load_acquire(word) != 0) return;
  }
  clear(region, state, own_place);
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

void RegionPool::set_up() {
  the_known_generations = {};
  the_dead.assign((static_cast<size_t>(node_segment().rank_count()) + 63) / 64, 0);
  // All processes know the region of MPI_COMM_WORLD without receiving its id.
  if (!states().empty()) the_known_generations[0] = uint64_t{state_of(0).generation()} + 1;
  objects::leave_region = [](Comm& comm) {
    delete comm.region_view;
    delete comm.machine_region_view;
    comm.region_view = comm.machine_region_view = nullptr;
    leave(comm.region, local_rank_of(comm.group->peers[static_cast<size_t>(comm.rank)]));
  };
  objects::close_region = [](Comm& comm) {
    if (comm.region_view != nullptr) comm.region_view->disable();
    if (comm.machine_region_view == nullptr) return;
    comm.machine_region_view->disable();
    comm.machine_region_view->publish_death();
  };
  // Processes on other machines use no region of this segment.
  objects::leave_regions_of = [](objects::PeerIndex process) {
    const int place = local_rank_of(process);
    if (place < 0) return;
    the_dead[static_cast<size_t>(place) / 64] |= uint64_t{1} << (place % 64);
    leave_all(place);
  };
  objects::leave_regions_without_id = leave_without_id;
}

int32_t RegionPool::take(std::span<const objects::PeerIndex> members) {
  return shm::process_node == nullptr ? kNoRegion
                                      : take_below(node_segment().geometry().region_count, members);
}

int32_t RegionPool::take_for_operation(std::span<const objects::PeerIndex> members) {
  return shm::process_node == nullptr ? kNoRegion
                                      : take_below(node_segment().geometry().region_count / 2, members);
}

uint64_t RegionPool::count_taken() {
  if (shm::process_node == nullptr) return 0;
  return static_cast<uint64_t>(std::ranges::count_if(states(), [](const uint64_t& word) {
    return RegionState{atomic::load_relaxed(word)}.stage() != RegionState::kFree;
  }));
}

int32_t RegionPool::take_below(uint32_t most, std::span<const objects::PeerIndex> members) {
  if (members.size() < 2) return kNoRegion;
  const shm::Segment& segment = node_segment();
  const int region = claim(most, shm::node().local_rank());
  if (region == kNoRegion) return kNoRegion;
  chaos::at(chaos::Point::region_claimed);
  if (!segment.reserve_region(region)) {
    give_back(region);
    return kNoRegion;
  }
  const std::span<uint64_t> present = segment.present(region);
  const std::span<uint64_t> counted = segment.counted(region);
  for (const objects::PeerIndex process : members) {
    const auto place = static_cast<size_t>(local_rank_of(process));
    atomic::fetch_or(present[place / 64], uint64_t{1} << (place % 64));
    atomic::fetch_or(counted[place / 64], uint64_t{1} << (place % 64));
  }
  const RegionState state = state_of(region).at(RegionState::kUsed, 0);
  the_known_generations[static_cast<size_t>(region)] = uint64_t{state.generation()} + 1;
  // The other processes receive the id from this process after this store.
  atomic::store_release(states()[static_cast<size_t>(region)], state.word);
  chaos::at(chaos::Point::region_taken);
  return region_id_of(region, state);
}

bool RegionPool::can_be(int32_t region_id) {
  if (region_id == kNoRegion) return true;
  return region_id >= 0 &&
         static_cast<uint32_t>(index_of(region_id)) < node_segment().geometry().region_count;
}

int32_t RegionPool::accept(int32_t region_id) {
  if (region_id == kNoRegion) return kNoRegion;
  // Validate the id, because it came in a message.
  const int region = index_of(region_id);
  if (!can_be(region_id)) {
    shm::report_corruption("a communicator got collective region %d, and there are %u", region,
                           node_segment().geometry().region_count);
  }
  const bool present = Bit(region, shm::node().local_rank()).is_set();
  const RegionState state = state_of(region);
  if (!present || region_id_of(region, state) != region_id) return kNoRegion;
  the_known_generations[static_cast<size_t>(region)] = uint64_t{state.generation()} + 1;
  return region_id;
}

void RegionPool::leave(int32_t region, int place) {
  if (region == kNoRegion || !can_be(region)) return;
  if (place == shm::node().local_rank()) chaos::at(chaos::Point::region_leaving);
  const int index = index_of(region);
  const Bit present(index, place);
  // A process that received the id too late has already left.
  if (!present.is_set() || region_id_of(index, state_of(index)) != region || !present.clear()) return;
  if (place == shm::node().local_rank()) chaos::at(chaos::Point::region_left);
  clear_if_left(index, shm::node().local_rank());
}

void RegionPool::leave_without_id() {
  for (int region = 0; region < static_cast<int>(states().size()); ++region) {
    // A region that was never allocated has no memory to read.
    if (state_of(region).stage() != RegionState::kUsed || !Bit(region, shm::node().local_rank()).is_set())
      continue;
    // Acquires the counted members.
    const RegionState state = state_of(region);
    if (state.stage() != RegionState::kUsed) continue;
    if (the_known_generations[static_cast<size_t>(region)] == uint64_t{state.generation()} + 1) continue;
    const std::span<const uint64_t> counted = node_segment().counted(region);
    bool bereaved = false;
    for (size_t i = 0; i < counted.size(); ++i)
      bereaved |= (atomic::load_relaxed(counted[i]) & the_dead[i]) != 0;
    if (bereaved) leave(region_id_of(region, state));
  }
}

void RegionPool::leave_all(int place) {
  for (int region = 0; region < static_cast<int>(states().size()); ++region) {
    const RegionState state = state_of(region);
    if (state.stage() == RegionState::kUsed) {
      // The stores of the dead process are visible to a process that knows of its death.
      static_cast<void>(Bit(region, place).clear());
      clear_if_left(region, shm::node().local_rank());
    } else if (state.stage() != RegionState::kFree && state.process() == place) {
      clear(region, state, shm::node().local_rank());
    }
  }
}

void CollectiveRegion::close(CollectiveRegion* view) {
  const int32_t region = view->region_;
  const int place = local_rank_of(view->peers_[view->rank_]);
  delete view;
  RegionPool::leave(region, place);
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
      pipeline_ring_(*this),
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
  const bool flat = flat_slots_pay(size_, tune::limit(param::Id::coll_line_ranks_max), shares_processors());
  whole_bytes_max_ = coll::whole_bytes_max(shares_processors());
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
        takes("lines", flat || one_order)
            ? published_bytes_max(collective, has_overflow_buffers(), shares_processors(), whole_bytes_max_)
            : -1;
    tree_bytes_max_[i] = groups ? longest_in_groups(collective, size_) : -1;
  }
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
  static_cast<void>(p2p::engine().poll_failures());
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
