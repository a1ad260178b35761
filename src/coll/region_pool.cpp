#include "coll/region_pool.h"

#include <algorithm>
#include <bit>

#include "base/atomic.h"
#include "base/chaos.h"
#include "objects/comm.h"
#include "shm/corruption.h"
#include "shm/segment.h"

namespace hearth::coll {
namespace {

using objects::kNoRegion;
using shm::RegionState;

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
  Bit(const shm::Segment& segment, int region, int local_rank)
      : word(segment.present(region)[static_cast<size_t>(local_rank) / 64]),
        bit(uint64_t{1} << (local_rank % 64)) {}
  bool is_set() const { return (atomic::load_acquire(word) & bit) != 0; }
  /// True in exactly one of several concurrent calls.
  bool clear() const { return is_set() && (atomic::fetch_and(word, ~bit) & bit) != 0; }

  uint64_t& word;
  const uint64_t bit;
};

}  // namespace

RegionPool::RegionPool(const shm::Node* node) : node_(node) {
  if (node == nullptr) return;
  dead_.assign((static_cast<size_t>(node->segment().rank_count()) + 63) / 64, 0);
  // All processes know the region of MPI_COMM_WORLD without receiving its id.
  if (!states().empty()) known_generations_[0] = uint64_t{state_of(0).generation()} + 1;
}

std::span<uint64_t> RegionPool::states() const {
  if (node_ == nullptr) return {};
  return std::span(node_->segment().job().regions).first(node_->segment().geometry().region_count);
}
RegionState RegionPool::state_of(int region) const {
  return {atomic::load_acquire(states()[static_cast<size_t>(region)])};
}
bool RegionPool::change(int region, RegionState seen, RegionState next) {
  return atomic::compare_exchange(states()[static_cast<size_t>(region)], seen.word, next.word);
}

// Taking.

int32_t RegionPool::take(std::span<const PeerIndex> members) {
  return take_below(static_cast<uint32_t>(states().size()), members);
}

int32_t RegionPool::take_for_operation(std::span<const PeerIndex> members) {
  return take_below(static_cast<uint32_t>(states().size()) / 2, members);
}

// Pairs with the release in give_back().
int RegionPool::claim(uint32_t most) {
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
    if (change(found, seen, seen.next_generation().at(RegionState::kTaking, node_->local_rank())))
      return found;
  }
}

int32_t RegionPool::take_below(uint32_t most, std::span<const PeerIndex> members) {
  if (members.size() < 2) return kNoRegion;
  const int region = claim(most);
  if (region == kNoRegion) return kNoRegion;
  const shm::Segment& segment = node_->segment();
  chaos::at(chaos::Point::region_claimed);
  if (!segment.reserve_region(region)) {
    give_back(region);
    return kNoRegion;
  }
  const std::span<uint64_t> present = segment.present(region);
  const std::span<uint64_t> counted = segment.counted(region);
  for (const PeerIndex process : members) {
    const auto local_rank = static_cast<size_t>(node_->local_rank_of(process));
    atomic::fetch_or(present[local_rank / 64], uint64_t{1} << (local_rank % 64));
    atomic::fetch_or(counted[local_rank / 64], uint64_t{1} << (local_rank % 64));
  }
  const RegionState state = state_of(region).at(RegionState::kUsed, 0);
  known_generations_[static_cast<size_t>(region)] = uint64_t{state.generation()} + 1;
  // The other processes receive the id from this process after this store.
  atomic::store_release(states()[static_cast<size_t>(region)], state.word);
  chaos::at(chaos::Point::region_taken);
  return region_id_of(region, state);
}

bool RegionPool::can_be(int32_t region_id) const {
  if (region_id == kNoRegion) return true;
  return region_id >= 0 && static_cast<size_t>(index_of(region_id)) < states().size();
}

int32_t RegionPool::accept(int32_t region_id) {
  if (region_id == kNoRegion) return kNoRegion;
  // Validate the id, because it came in a message.
  const int region = index_of(region_id);
  if (!can_be(region_id)) {
    shm::report_corruption("a communicator got collective region %d, and there are %zu", region,
                           states().size());
  }
  const bool present = Bit(node_->segment(), region, node_->local_rank()).is_set();
  const RegionState state = state_of(region);
  if (!present || region_id_of(region, state) != region_id) return kNoRegion;
  known_generations_[static_cast<size_t>(region)] = uint64_t{state.generation()} + 1;
  return region_id;
}

uint64_t RegionPool::count_taken() const {
  return static_cast<uint64_t>(std::ranges::count_if(states(), [](const uint64_t& word) {
    return RegionState{atomic::load_relaxed(word)}.stage() != RegionState::kFree;
  }));
}

// Leaving.

void RegionPool::leave(int32_t region_id) {
  if (region_id != kNoRegion) leave(region_id, node_->local_rank());
}

void RegionPool::leave(int32_t region_id, int local_rank) {
  if (region_id == kNoRegion || !can_be(region_id)) return;
  if (local_rank == node_->local_rank()) chaos::at(chaos::Point::region_leaving);
  const int index = index_of(region_id);
  const Bit present(node_->segment(), index, local_rank);
  // A process that received the id too late has already left.
  if (!present.is_set() || region_id_of(index, state_of(index)) != region_id || !present.clear()) return;
  if (local_rank == node_->local_rank()) chaos::at(chaos::Point::region_left);
  clear_if_left(index);
}

void RegionPool::leave_without_id() {
  for (int region = 0; region < static_cast<int>(states().size()); ++region) {
    // A region that was never allocated has no memory to read.
    if (state_of(region).stage() != RegionState::kUsed ||
        !Bit(node_->segment(), region, node_->local_rank()).is_set())
      continue;
    // Acquires the counted members.
    const RegionState state = state_of(region);
    if (state.stage() != RegionState::kUsed) continue;
    if (known_generations_[static_cast<size_t>(region)] == uint64_t{state.generation()} + 1) continue;
    const std::span<const uint64_t> counted = node_->segment().counted(region);
    bool counts_dead = false;
    for (size_t i = 0; i < counted.size(); ++i)
      counts_dead |= (atomic::load_relaxed(counted[i]) & dead_[i]) != 0;
    if (counts_dead) leave(region_id_of(region, state));
  }
}

void RegionPool::note_death(int local_rank) {
  dead_[static_cast<size_t>(local_rank) / 64] |= uint64_t{1} << (local_rank % 64);
  leave_all(local_rank);
}

void RegionPool::leave_all(int local_rank) {
  for (int region = 0; region < static_cast<int>(states().size()); ++region) {
    const RegionState state = state_of(region);
    if (state.stage() == RegionState::kUsed) {
      // The stores of the dead process are visible to a process that knows of its death.
      static_cast<void>(Bit(node_->segment(), region, local_rank).clear());
      clear_if_left(region);
    } else if (state.stage() != RegionState::kFree && state.process() == local_rank) {
      clear(region, state);
    }
  }
}

// Called by the process that allocates or clears the region.
void RegionPool::give_back(int region) {
  const RegionState state = state_of(region);
  atomic::store_release(states()[static_cast<size_t>(region)], state.at(RegionState::kFree, 0).word);
}

void RegionPool::clear(int region, RegionState seen) {
  const shm::Segment& segment = node_->segment();
  if (!change(region, seen, seen.at(RegionState::kClearing, node_->local_rank()))) return;
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

void RegionPool::clear_if_left(int region) {
  // Of two processes that leave at the same time, at least one sees that both have left.
  atomic::fence_full();
  const RegionState state = state_of(region);
  if (state.stage() != RegionState::kUsed) return;
  // Pairs with leave(): accesses of the leaving processes happen before.
  for (const uint64_t& word : node_->segment().present(region)) {
    if (atomic::load_acquire(word) != 0) return;
  }
  clear(region, state);
}

}  // namespace hearth::coll
