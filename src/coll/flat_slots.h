// Flat shared-memory collectives, for small data: the data of a process fit a slot of its row in the
// collective region, or the slot's overflow buffer, and each process reads the rows that it needs. There is
// no matching and there are no requests; one cache line moves each way between two ranks. The cost of a
// collective is the number of rows that a process reads:
//
//   barrier, allreduce, allgather, alltoall, reduce_scatter_block   all other ranks
//   reduce, gather       on the root: all other ranks; on other ranks: none
//   bcast, scatter       on the root: none; on other ranks: the root
//   scan, exscan         all lower ranks
//
// If ranks outnumber processors, this is the best algorithm for any number of ranks, because each rank is
// scheduled once.
//
// Reductions combine ranks from the last to the first, x[0] op (x[1] op (... op x[n - 1])): in rank order,
// and with the same bits on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/collective_region.h"
#include "coll/schedule.h"
#include "coll/select.h"

namespace hearth::coll {

/// Whether a collective uses the flat slots of its communicator's region; equal on all ranks. `bytes`:
/// maximum length of a process's data. False without a region.
inline bool fits_flat_slots(const CollectiveRegion* region, Collective collective, int64_t bytes) {
  return region != nullptr && bytes <= region->flat_bytes_max(collective);
}

/// What a blocking call has done when it leaves a collective to FlatSlots (coll/flat_call.h).
struct FlatProgress {
  uint32_t number;  // the sequence number, which is taken
  bool has_published;
  Status outcome;
};

/// One such collective on this process. First one function sets the collective, with the arguments of the MPI
/// call; `send` may be MPI_IN_PLACE where that call allows it. Then begin() takes a sequence number.
class FlatSlots final : public SharedCollective {
 public:
  /// Buffers for two short operands of a reduction. Long operands are in memory of the region's view, because
  /// the program's stack may be small.
  struct Room {
    alignas(shm::kLineBytes) std::byte bytes[2][sizeof(shm::CollectiveSlot)];
  };

  /// `room` must outlive this object. If it is nullptr, reserve() must be called for a reduction.
  explicit FlatSlots(CollectiveRegion& region, Room* room = nullptr)
      : region_(region), room_(room), rank_(region.rank()) {}

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

  /// Allocates the operand buffers of a reduction in the schedule.
  Status reserve(Schedule& schedule, const Type& type, Count count) {
    HEARTH_TRY(schedule.scratch(type, count, operands_.incoming));
    return schedule.scratch(type, count, operands_.result);
  }
  void reduce(const void* send, void* receive, Count count, Type& type, Op& op, int root);
  void allreduce(const void* send, void* receive, Count count, Type& type, Op& op);
  void reduce_scatter_block(const void* send, void* receive, Count count, Type& type, Op& op);
  void scan(const void* send, void* receive, Count count, Type& type, Op& op);
  void exscan(const void* send, void* receive, Count count, Type& type, Op& op);

  /// Adds the collective as a step.
  void join(Schedule& schedule) { schedule.add_shared(*this, out_.type, in_.type, in_.op); }
  void begin() override { resume({region_.next_number(), false, {}}); }
  /// Continues a collective, in place of begin().
  void resume(const FlatProgress& progress) {
    number_ = progress.number;
    has_published_ = progress.has_published;
    outcome = progress.outcome;
    generation_ = region_.pipeline_ring().generations_begun();
    expected_ = what_of(in_.expected_bytes, kind_, generation_);
    operands_.has_result = false;
    operands_.first = nullptr;
    read_.next = read_.first;
    lag_ = 0;
  }
  bool advance() override;
  void describe(p2p::WaitDiagnostics& note) const override;
  int root() const override;
  bool check_failure() override;

 private:
  enum class Use : uint8_t { nothing, copy, fold };
  static constexpr int kAll = -1;
  static constexpr int kNobody = -2;

  void set_data(const void* elements, Type& type, int64_t bytes, int to);
  void set_ranks(int first, int last);
  void copy_to(void* elements, Count each, Type& type, bool blocks);
  void keep_own(const void* from, Count from_count, Type& from_type, void* to, Count to_count, Type& to_type);
  void fold(const void* own, void* result, Count count, Type& type, Op& op);
  bool publish_data();
  void put_data(std::byte* payload) const;
  bool read_slots();
  void take(int rank, const shm::CollectiveSlot& slot, const SlotHeader& header);
  [[gnu::cold]] bool is_of_use(int rank, const SlotHeader& header);
  [[gnu::cold]] void skip(int rank, Status status);
  void note(Status status) {
    if (!status.ok() && outcome.ok()) outcome = status;
  }
  bool overflows(int64_t bytes) const { return __builtin_expect(bytes > shm::kSlotPayloadBytes, 0); }
  void fold_in(const void* elements);
  void keep_result();

  CollectiveRegion& region_;
  Room* const room_;
  uint32_t number_ = 0;
  const int rank_;
  Collective kind_ = Collective::count_;
  uint64_t generation_ = 0;  // long collectives called before
  uint32_t expected_ = 0;    // SlotHeader::what() of the ranks that are read, if the calls match

  // The data that this process publishes, and the reader.
  struct {
    const void* data = nullptr;
    Type* type = nullptr;
    int64_t bytes = 0;
    int reader = kNobody;
    bool blocks = false;  // one block per rank; no rank reads this process's own block
  } out_;
  bool has_published_ = false;

  // The copy of the own block to its place in the result.
  struct {
    const void* from;
    Count from_count;
    Type* from_type = nullptr;  // nullptr: no copy
    void* to;
    Count to_count;
    Type* to_type;
  } kept_;

  // The ranks that are read: from `first` down to `last`, without this one.
  struct {
    int first = -1;
    int next = -1;
    int last = 0;
    bool all = false;
  } read_;
  uint32_t lag_ = 0;  // maximum lag (SlotHeader::lag()) of the ranks that were read

  // The use of the data: bytes [offset, offset + bytes) of each rank's data are `count` elements of a block.
  struct {
    Use use = Use::nothing;
    bool blocks = false;  // the block of each rank goes to its own place
    int64_t expected_bytes = 0;
    int64_t offset = 0;
    int64_t bytes = 0;
    void* to = nullptr;
    Count count = 0;
    Type* type = nullptr;
    Op* op = nullptr;
  } in_;

  // A reduction.
  struct {
    const void* own = nullptr;    // this process's operand
    bool keeps_first = false;     // the first operand stays in its slot until the second one is read
    const void* first = nullptr;  // its address
    bool has_result = false;
    std::byte* incoming = nullptr;
    std::byte* result = nullptr;
  } operands_;
};

/// Adds the collective as a step of a schedule that has a region. `begin` sets the collective and calls
/// reserve() if necessary.
template <class Begin>
Status add_flat_slots(Schedule& schedule, Begin begin) {
  FlatSlots* slots;
  HEARTH_TRY(schedule.make_shared(slots, *schedule.region()));
  HEARTH_TRY(begin(*slots));
  slots->join(schedule);
  return {};
}

}  // namespace hearth::coll
