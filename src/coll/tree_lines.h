// Small collectives among many ranks that have a processor each: what lines.h does, within the groups of a
// hierarchy. Within a group everyone reads the leader's slot and the leader everyone's, at the top all read
// all; so nobody reads the slots of more ranks than a group has, and nobody's slot is read by more.
//
//   barrier, reduce, allreduce   up: leaders fold what their groups say; across: the top group exchanges what
//                                it has; down: leaders tell their groups. After a reduce only the root is
//                                told, by the member of the top group above it
//   bcast                        from the root up and down: everyone hears one rank (Hierarchy::speaker)
//   allgather                    leaders say the blocks of their whole group, and all hear all leaders
//
// Where ranks outnumber processors lines.h is better: a leader would have to run twice.
//
// Each rank says one thing on the way up and another one on the way down, so most of these collectives take
// two numbers of the area; those that go one way take one. The words carry how far the ranks below are
// through with earlier collectives (Said::done), so that slots become free without a look at every rank.
//
// Reductions: each leader folds its group from the last member to itself, the top group likewise, so the
// order of ranks is kept where groups are consecutive ranks (Hierarchy::by_rank), and all get the same bits.
// Other groups serve operations whose result does not depend on the order. Elements lie one after another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/control_area.h"
#include "coll/hierarchy.h"
#include "coll/schedule.h"
#include "coll/select.h"

namespace hearth::coll {

/// Whether a collective goes through the slots of its area in groups: the same on all ranks. `bytes`: the
/// most that a rank gives. Asked where it does not fit lines (coll/lines.h).
inline bool fits_tree(const ControlArea* area, Collective collective, int64_t bytes) {
  return area != nullptr && bytes <= area->tree_bytes_max(collective);
}

/// One such collective on this process, like Lines.
class TreeLines final : public Encounter {
 public:
  explicit TreeLines(ControlArea& area) : area_(area), rank_(area.rank()) {}

  void barrier();
  void bcast(void* buffer, Count count, Type& type, int root);
  void allgather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                 Type& receive_type);
  void reduce(const void* send, void* receive, Count count, Type& type, Op& op, int root);
  void allreduce(const void* send, void* receive, Count count, Type& type, Op& op);

  /// As a step.
  void join(Schedule& schedule) { schedule.meet(*this, type_, from_type_, op_); }
  void begin() override;
  bool advance() override;
  bool look() override;
  int root() const override { return root_; }

 private:
  enum class Phase : uint8_t { up, across, down, to_root, from_root, gather, concatenate, over };

  void set_up_reduction(const void* send, void* receive, Count count, Type& type, Op* op);
  bool step();
  bool go_up();
  bool go_across();
  bool go_down();
  bool tell_root();
  bool pass_on();
  bool gather_group();
  bool hear_leaders();

  bool wait_for(int rank) {
    awaited_rank_ = rank;
    awaited = area_.process(rank);
    return false;
  }
  /// Whether the rank has said as many bytes as are expected; then `payload` has them.
  bool hear(int rank, uint32_t number, int64_t bytes, const std::byte*& payload);
  bool may_say(uint32_t number) {
    awaited_rank_ = -1;
    return area_.may_write(number, awaited);
  }
  void say(uint32_t number, int64_t bytes);
  void tell(const Hierarchy::Group& group);
  void note(Status status) {
    if (!status.ok() && outcome.ok()) outcome = status;
  }
  [[gnu::cold]] bool give_up(Status status);
  void fold(const std::byte* packed);
  void fold_own();

  ControlArea& area_;
  uint32_t number_ = 0;  // up; the next one is down
  const int rank_;
  Collective kind_ = Collective::count_;
  uint64_t turns_ = 0;     // long collectives before it
  int awaited_rank_ = -1;  // to say something; -1 while it may not speak itself
  const Hierarchy* hierarchy_ = nullptr;
  Phase first_phase_ = Phase::up;
  Phase phase_ = Phase::up;
  bool two_numbers_ = false;

  const void* from_ = nullptr;
  Count from_count_ = 0;
  Type* from_type_ = nullptr;  // of an own block that is not in place
  void* to_ = nullptr;
  Count count_ = 0;
  Type* type_ = nullptr;
  Op* op_ = nullptr;
  int64_t bytes_ = 0;
  int root_ = -1;  // of a reduce; -1: all get the result

  size_t level_ = 0;     // on the way up
  int next_ = -1;        // of a group's members, the one that is heard next
  uint32_t behind_ = 0;  // the most of those below, and of all after the exchange at the top

  int64_t heard_bytes_ = 0;               // of what was heard last
  const std::byte* passed_on_ = nullptr;  // bcast: where it lies

  // Packed values. The own one: the user's at first, then the fold of what is below.
  bool has_own_ = false;
  bool has_value_ = false;
  bool has_kept_own_ = false;  // allgather: in its place
  int own_at_ = 0;
  alignas(shm::kLineBytes) std::byte values_[2][shm::kSlotPayloadBytes];
  alignas(shm::kLineBytes) std::byte incoming_[shm::kSlotPayloadBytes];
};

/// A step of a schedule that has an area: `begin` says what it is.
template <class Begin>
Status meet_in_tree(Schedule& schedule, Begin begin) {
  TreeLines* meeting;
  HEARTH_TRY(schedule.make_encounter(meeting, *schedule.area()));
  begin(*meeting);
  meeting->join(schedule);
  return {};
}

}  // namespace hearth::coll
