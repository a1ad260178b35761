// Small collectives: everything that a process says fits one slot of its row in the control area, or the
// slot's wide part, and everyone reads what concerns it from the rows of the others. No matching, no
// requests; one line goes each way between two ranks. What a collective costs is the number of rows that a
// process hears:
//
//   barrier, allreduce, allgather, alltoall, reduce_scatter_block   all others
//   reduce, gather       the root: all others; others: none
//   bcast, scatter       the root: none; others: the root
//   scan, exscan         all ranks before
//
// Where ranks outnumber processors this is best for any number of ranks: each is scheduled once.
//
// Reductions go from the last rank to the first, x[0] op (x[1] op (... op x[n - 1])): in the order of ranks,
// and with the same bits everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/control_area.h"
#include "coll/schedule.h"
#include "coll/select.h"

namespace hearth::coll {

/// Whether a collective goes through the slots of its communicator's area: the same on all ranks. `bytes`:
/// the most that a process says. Without an area: never.
inline bool fits_lines(const ControlArea* area, Collective collective, int64_t bytes) {
  return area != nullptr && bytes <= area->line_bytes_max(collective);
}

/// One such collective on this process. One function says what it does, with the arguments of the MPI call;
/// `send` may be MPI_IN_PLACE where that call allows it. Then it begins: it takes a number.
class Lines final : public Encounter {
 public:
  /// For two short operands of a reduction. The program's stack may be small: long ones lie with the area.
  struct Room {
    alignas(shm::kLineBytes) std::byte bytes[2][sizeof(shm::ControlSlot)];
  };

  /// `room` lives as long as this, or reserve() is called before a reduction.
  explicit Lines(ControlArea& area, Room* room = nullptr) : area_(area), room_(room), rank_(area.rank()) {}

  void barrier();
  void bcast(void* buffer, Count count, Type& type, int root);
  void gather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
              Type& receive_type, int root);
  void scatter(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
               Type& receive_type, int root);
  void allgather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                 Type& receive_type);
  void alltoall(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                Type& receive_type);

  /// Before a reduction.
  Status reserve(Schedule& schedule, const Type& type, Count count) {
    HEARTH_TRY(schedule.scratch(type, count, incoming_));
    return schedule.scratch(type, count, result_);
  }
  void reduce(const void* send, void* receive, Count count, Type& type, Op& op, int root);
  void allreduce(const void* send, void* receive, Count count, Type& type, Op& op);
  void reduce_scatter_block(const void* send, void* receive, Count count, Type& type, Op& op);
  void scan(const void* send, void* receive, Count count, Type& type, Op& op);
  void exscan(const void* send, void* receive, Count count, Type& type, Op& op);

  /// As a step.
  void join(Schedule& schedule) { schedule.meet(*this, said_type_, type_, op_); }
  void begin() override {
    number_ = area_.next_number();
    turns_ = area_.chunk_ring().turns_taken();
    expected_ = what_of(heard_bytes_, kind_, turns_);
    outcome = {};
    spoken_ = has_result_ = false;
    first_operand_ = nullptr;
    next_ = first_;
    behind_ = 0;
  }
  bool advance() override;
  void describe(p2p::WaitNote& note) const override;
  int root() const override;
  bool look() override;

 private:
  enum class Use : uint8_t { nothing, copy, fold };
  static constexpr int kAll = -1;
  static constexpr int kNobody = -2;

  void say(const void* elements, Type& type, int64_t bytes, int to);
  void hear(int first, int last);
  void copy_to(void* elements, Count each, Type& type, bool blocks);
  void keep_own(const void* from, Count from_count, Type& from_type, void* to, Count to_count, Type& to_type);
  void fold(const void* own, void* result, Count count, Type& type, Op& op);
  bool speak();
  void put_said(std::byte* payload) const;
  bool listen();
  void take(int rank, const shm::ControlSlot& slot, const Said& said);
  [[gnu::cold]] bool is_of_use(int rank, const Said& said);
  [[gnu::cold]] void miss(int rank, Status status);
  void note(Status status) {
    if (!status.ok() && outcome.ok()) outcome = status;
  }
  bool is_wide(int64_t bytes) const { return __builtin_expect(bytes > shm::kSlotPayloadBytes, 0); }
  void fold_in(const void* elements);
  void keep_result();

  ControlArea& area_;
  Room* const room_;
  uint32_t number_ = 0;
  const int rank_;
  Collective kind_ = Collective::count_;
  uint64_t turns_ = 0;     // long collectives before it
  uint32_t expected_ = 0;  // Said::what() of those that are heard

  // What is said, and who hears it.
  const void* said_ = nullptr;
  Type* said_type_ = nullptr;
  int64_t said_bytes_ = 0;
  int said_to_ = kNobody;
  bool says_blocks_ = false;  // one for each rank, of which nobody hears this process's own
  bool spoken_ = false;

  // The own block, where it goes on beside the others'.
  struct {
    const void* from;
    Count from_count;
    Type* from_type = nullptr;  // nullptr: nowhere
    void* to;
    Count to_count;
    Type* to_type;
  } kept_;

  // Who is heard: from first_ down to last_, but for this process.
  int first_ = -1;
  int next_ = -1;
  int last_ = 0;
  bool hears_all_ = false;
  uint32_t behind_ = 0;  // the most of those that were heard: Said::behind()

  // What is done with it: bytes [offset_, offset_ + bytes_) of what each says are `count_` elements of a
  // block.
  Use use_ = Use::nothing;
  bool blocks_ = false;  // of each rank in its own place
  int64_t heard_bytes_ = 0;
  int64_t offset_ = 0;
  int64_t bytes_ = 0;
  void* to_ = nullptr;
  Count count_ = 0;
  Type* type_ = nullptr;
  Op* op_ = nullptr;
  const void* own_ = nullptr;            // this process's part of a reduction
  bool keeps_first_ = false;             // the first operand stays where it is until the second one comes
  const void* first_operand_ = nullptr;  // there
  bool has_result_ = false;

  std::byte* incoming_ = nullptr;
  std::byte* result_ = nullptr;
};

/// A step of a schedule that has an area: `begin` says what it is, and calls reserve() before.
template <class Begin>
Status meet_in_lines(Schedule& schedule, Begin begin) {
  Lines* lines;
  HEARTH_TRY(schedule.make_encounter(lines, *schedule.area()));
  HEARTH_TRY(begin(*lines));
  lines->join(schedule);
  return {};
}

}  // namespace hearth::coll
