// Hierarchical shared-memory collectives: small data among many ranks that have a processor each. They work
// like flat_slots.h within the groups of a hierarchy. In a group, all members read the leader's slot, and the
// leader reads the slots of all members; in the top group, all members read all slots. So no rank reads more
// slots than a group has members, and no slot has more readers.
//
//   barrier, reduce, allreduce   up: leaders reduce the data of their groups; across: the top group exchanges
//                                its data; down: leaders publish the result to their groups. After a reduce
//                                only the root reads the result, from its delegate in the top group
//   bcast                        from the root up and down: each rank reads one rank (Hierarchy::publisher)
//   allgather                    leaders publish the blocks of their groups, and all ranks read all leaders
//
// If ranks outnumber processors, flat_slots.h is better, because a leader would have to be scheduled twice.
//
// Each rank publishes once on the way up and once on the way down, so most of these collectives take two
// sequence numbers of the region; those with one way take one. The slot headers carry the maximum lag of the
// ranks below (SlotHeader::lag), so that slots become free without reading the row of every rank.
//
// Reductions: each leader reduces its group from the last member to itself, and so does the top group. Rank
// order is kept if groups are consecutive ranks (Hierarchy::by_rank), and all ranks get the same bits. Other
// groups serve operations whose result does not depend on the order. Elements are contiguous.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/collective_region.h"
#include "coll/hierarchy.h"
#include "coll/schedule.h"
#include "coll/select.h"

namespace hearth::coll {

/// Whether a collective uses the hierarchical slots of its region; equal on all ranks. `bytes`: maximum
/// length of a rank's data. Called if flat slots do not fit (coll/flat_slots.h).
inline bool fits_tree(const CollectiveRegion* region, Collective collective, int64_t bytes) {
  return region != nullptr && bytes <= region->tree_bytes_max(collective);
}

/// One such collective on this process, used like FlatSlots.
class TreeSlots final : public SharedCollective {
 public:
  explicit TreeSlots(CollectiveRegion& region) : region_(region), rank_(region.rank()) {}

  void barrier();
  void bcast(void* buffer, Count count, Type& type, int root);
  void allgather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                 Type& receive_type);
  void reduce(const void* send, void* receive, Count count, Type& type, Op& op, int root);
  void allreduce(const void* send, void* receive, Count count, Type& type, Op& op);

  /// Adds the collective as a step.
  void join(Schedule& schedule) { schedule.add_shared(*this, call_.type, call_.from_type, call_.op); }
  void begin() override;
  bool advance() override;
  bool check_failure() override;
  int root() const override { return call_.root; }

 private:
  enum class Phase : uint8_t { up, across, down, to_root, from_root, gather, concatenate, over };

  void set_up_reduction(const void* send, void* receive, Count count, Type& type, Op* op);
  bool step();
  bool go_up();
  bool go_across();
  bool go_down();
  bool serve_root();
  bool pass_on();
  bool gather_group();
  bool read_leaders();

  bool wait_for(int rank) {
    awaited_rank_ = rank;
    awaited = region_.process(rank);
    return false;
  }
  /// Polls a rank; true once it has published. `payload` is then its data, or nullptr if they are not as
  /// expected.
  bool poll(int rank, uint32_t number, int64_t bytes, const std::byte*& payload);
  bool may_publish(uint32_t number) {
    awaited_rank_ = -1;
    return region_.may_write(number, awaited);
  }
  void publish(uint32_t number, int64_t bytes);
  void wake_group(const Hierarchy::Group& group);
  void note(Status status) {
    if (!status.ok() && outcome.ok()) outcome = status;
  }
  [[gnu::cold]] bool give_up(Status status);
  void fold(const std::byte* packed);
  void fold_own();

  CollectiveRegion& region_;
  uint32_t number_ = 0;  // for the way up; the next number is for the way down
  const int rank_;
  Collective kind_ = Collective::count_;
  uint64_t generation_ = 0;  // long collectives called before
  int awaited_rank_ = -1;  // the rank that must publish next; -1 while this rank waits to write its own slot
  const Hierarchy* hierarchy_ = nullptr;
  Phase first_phase_ = Phase::up;
  Phase phase_ = Phase::up;
  bool two_numbers_ = false;

  // The arguments of the call.
  struct {
    const void* from = nullptr;
    Count from_count = 0;
    Type* from_type = nullptr;  // nullptr: the own block is in place
    void* to = nullptr;
    Count count = 0;
    Type* type = nullptr;
    Op* op = nullptr;
    int64_t bytes = 0;
    int root = -1;  // of a bcast or reduce; -1: all ranks get the result
  } call_;

  size_t level_ = 0;  // on the way up
  int next_ = -1;     // index of the group member that is read next
  uint32_t lag_ = 0;  // maximum lag of the ranks below; of all ranks after the exchange at the top

  int64_t read_bytes_ = 0;                // length of the data that were read last
  const std::byte* passed_on_ = nullptr;  // bcast: the data to forward

  // Packed values. The own value is the user's at first, then the reduction over the ranks below.
  bool has_own_ = false;
  bool has_value_ = false;
  bool has_kept_own_ = false;  // allgather: the own block is in its place
  int own_at_ = 0;
  alignas(shm::kLineBytes) std::byte values_[2][shm::kSlotPayloadBytes];
  alignas(shm::kLineBytes) std::byte incoming_[shm::kSlotPayloadBytes];
};

/// Adds the collective as a step of a schedule that has a region. `begin` sets the collective.
template <class Begin>
Status add_tree_slots(Schedule& schedule, Begin begin) {
  TreeSlots* slots;
  HEARTH_TRY(schedule.make_shared(slots, *schedule.region()));
  begin(*slots);
  slots->join(schedule);
  return {};
}

}  // namespace hearth::coll
