#include "coll/tree_slots.h"

#include <algorithm>

#include "coll/access_counters.h"
#include "coll/blocks.h"
#include "coll/mismatch.h"
#include "coll/slot_data.h"
#include "mpi.h"

namespace hearth::coll {
namespace {

using datatype::Element;

/// Whether a reduction gives the same bits in any order. Integers wrap around.
bool order_is_free(const Op& op, const Type& type) {
  const bool whole = (type.element >= Element::bytes && type.element <= Element::int128) ||
                     (type.element >= Element::boolean8 && type.element <= Element::logical128);
  return whole && op.kind != objects::OpKind::user;
}

}  // namespace

// Setting the collective. Errors do not stop it, because other ranks depend on this one.

void TreeSlots::set_up_reduction(const void* send, void* receive, Count count, Type& type, Op* op) {
  call_.from = send == MPI_IN_PLACE ? receive : send;
  call_.to = receive;
  call_.count = count;
  call_.type = &type;
  call_.op = op;
  call_.bytes = count * type.size;
  hierarchy_ = &region_.hierarchy(op == nullptr || order_is_free(*op, type));
  two_numbers_ = true;
}

void TreeSlots::barrier() {
  kind_ = Collective::barrier;
  set_up_reduction(nullptr, nullptr, 0, byte_type(), nullptr);
}

void TreeSlots::allreduce(const void* send, void* receive, Count count, Type& type, Op& op) {
  kind_ = Collective::allreduce;
  set_up_reduction(send, receive, count, type, &op);
}

void TreeSlots::reduce(const void* send, void* receive, Count count, Type& type, Op& op, int root) {
  kind_ = Collective::reduce;
  set_up_reduction(send, receive, count, type, &op);
  call_.root = root;
  two_numbers_ = hierarchy_->top_delegate(root) != root;
}

void TreeSlots::bcast(void* buffer, Count count, Type& type, int root) {
  kind_ = Collective::bcast;
  call_.to = buffer;
  call_.count = count;
  call_.type = &type;
  call_.bytes = count * type.size;
  call_.root = root;
  hierarchy_ = &region_.hierarchy(true);
  first_phase_ = Phase::from_root;
}

void TreeSlots::allgather(const void* send, Count send_count, Type& send_type, void* receive,
                          Count receive_count, Type& receive_type) {
  kind_ = Collective::allgather;
  call_.to = receive;
  call_.count = receive_count;
  call_.type = &receive_type;
  call_.bytes = receive_count * receive_type.size;
  if (send != MPI_IN_PLACE) {
    call_.from = send;
    call_.from_count = send_count;
    call_.from_type = &send_type;
  }
  hierarchy_ = &region_.hierarchy(true);
  two_numbers_ = true;
  first_phase_ = Phase::gather;
}

void TreeSlots::begin() {
  number_ = region_.next_number();
  if (two_numbers_) region_.next_number();
  generation_ = region_.pipeline_ring().generations_begun();
  awaited_rank_ = -1;
  outcome = {};
  phase_ = first_phase_;
  level_ = 0;
  next_ = phase_ == Phase::from_root ? -1 : static_cast<int>(hierarchy_->groups()[0].members.size()) - 1;
  lag_ = 0;
  has_own_ = has_value_ = has_kept_own_ = false;
  own_at_ = 0;
  passed_on_ = nullptr;
}

// Slots.

bool TreeSlots::poll(int rank, uint32_t number, int64_t bytes, const std::byte*& payload) {
  const shm::CollectiveSlot* slot;
  SlotHeader header;
  if (!region_.poll(rank, number, slot, header)) return wait_for(rank);
  lag_ = std::max(lag_, header.lag() - (number - number_));
  payload = slot->payload;
  // A payload has no more bytes, even if a corrupt header says so.
  read_bytes_ = std::min(header.bytes(), shm::kSlotPayloadBytes);
  access_counters::reads(payload, header.bytes());
  if (__builtin_expect(header.what() == what_of(bytes, kind_, generation_), 1)) return true;
  if (!header.is_after(generation_)) {
    note(region_.fall_out_of_step(rank));
  } else if (header.kind() != kind_ || header.bytes() > bytes || kind_ != Collective::bcast) {
    const MismatchedCall other{rank, header.kind(), header.bytes()};
    const MismatchedCall own{rank_, kind_, bytes};
    // A collective of another kind may take a different number of sequence numbers.
    note(header.kind() == kind_ ? mismatch_error(other, own) : region_.fall_out_of_step(other, own));
  }
  // A bcast may be shorter than the receive buffer.
  if (header.kind() != kind_ || (header.bytes() < bytes && kind_ != Collective::bcast)) payload = nullptr;
  return true;
}

void TreeSlots::publish(uint32_t number, int64_t bytes) {
  lag_ = std::max(lag_, region_.lag(number_));
  region_.publish(number, what_of(bytes, kind_, generation_), lag_ + (number - number_));
}

// If the awaited rank is in a long collective at this position, or out of step, it never publishes the
// awaited data.
bool TreeSlots::check_failure() {
  if (const Status failure = region_.failure(); !failure.ok()) {
    note(failure);
    phase_ = Phase::over;
    return advance();
  }
  if (region_.is_out_of_step(rank_))
    return give_up(region_.fall_out_of_step(awaited_rank_ >= 0 ? awaited_rank_ : rank_));
  for (int rank = 0; rank < region_.size(); ++rank) {
    if ((awaited_rank_ < 0 || rank == awaited_rank_) && region_.is_out_of_step(rank))
      return give_up(region_.fall_out_of_step(rank));
  }
  // The awaited rank may have published data of another collective, which this rank did not have to read.
  const shm::CollectiveSlot* slot;
  SlotHeader header;
  if (awaited_rank_ >= 0 && region_.poll(awaited_rank_, number_, slot, header) && header.kind() != kind_)
    return give_up(region_.fall_out_of_step({awaited_rank_, header.kind(), header.bytes()},
                                            {rank_, kind_, call_.bytes}));
  CallHeader long_call;
  if (awaited_rank_ < 0 || !region_.poll_call(awaited_rank_, generation_ + 1, long_call) ||
      long_call.small_begun() != static_cast<uint8_t>(number_ - 1))
    return false;
  return give_up(region_.fall_out_of_step({awaited_rank_, long_call.kind(), long_call.bytes()},
                                          {rank_, kind_, call_.bytes}));
}

bool TreeSlots::give_up(Status status) {
  note(status);
  phase_ = Phase::over;
  return advance();
}

void TreeSlots::wake_group(const Hierarchy::Group& group) {
  for (const int member : group.members) {
    if (member != rank_) region_.wake(member);
  }
}

// Reduction. Operands are combined from the last member of a group to the leader's own.

void TreeSlots::fold(const std::byte* packed) {
  if (call_.bytes == 0 || packed == nullptr) return;
  std::byte* value = values_[1 - own_at_];
  if (!has_value_) {
    has_value_ = true;
    copy_bytes(value, packed, static_cast<size_t>(call_.bytes));
    return access_counters::copies(call_.bytes);
  }
  if (!folds_in_place(*call_.op, *call_.type) && packed != values_[own_at_]) {
    copy_bytes(incoming_, packed, static_cast<size_t>(call_.bytes));
    packed = incoming_;
    access_counters::copies(call_.bytes);
  }
  const int64_t bound = call_.type->true_lower_bound;
  const Status status = datatype::reduce(*call_.op, *call_.type, packed - bound, value - bound, call_.count);
  note(status);
  access_counters::reduces(call_.bytes);
}

void TreeSlots::fold_own() {
  if (call_.bytes == 0) return;
  if (!has_own_) {
    has_own_ = true;
    copy_bytes(values_[own_at_], data_of(call_.from, *call_.type), static_cast<size_t>(call_.bytes));
    access_counters::copies(call_.bytes);
  }
  fold(values_[own_at_]);
}

// Execution.

bool TreeSlots::advance() {
  while (phase_ != Phase::over) {
    if (!step()) return false;
  }
  region_.end(number_);
  if (two_numbers_) region_.end(number_ + 1);
  return true;
}

bool TreeSlots::step() {
  switch (phase_) {
    case Phase::up:
      return go_up();
    case Phase::across:
      return go_across();
    case Phase::down:
      return go_down();
    case Phase::to_root:
      return serve_root();
    case Phase::from_root:
      return pass_on();
    case Phase::gather:
      return gather_group();
    case Phase::concatenate:
      return read_leaders();
    case Phase::over:
      break;
  }
  return true;
}

bool TreeSlots::go_up() {
  const Hierarchy::Group& group = hierarchy_->groups()[level_];
  const bool top = static_cast<int>(level_) + 1 == hierarchy_->levels();
  if (!top && group.own == 0) {
    for (; next_ > 0; --next_) {
      const std::byte* payload;
      if (!poll(group.members[static_cast<size_t>(next_)], number_, call_.bytes, payload)) return false;
      fold(payload);
    }
    fold_own();
    if (has_value_) own_at_ = 1 - own_at_;
    has_value_ = false;
    ++level_;
    next_ = static_cast<int>(hierarchy_->groups()[level_].members.size()) - 1;
    return true;
  }
  // The value of the ranks below is complete: publish it to the leader or, at the top, to the other members.
  const bool exchanges = call_.root < 0;
  if (top && !exchanges && hierarchy_->top_delegate(call_.root) == rank_) {
    phase_ = Phase::across;
    return true;
  }
  if (!may_publish(number_)) return false;
  const std::byte* own = has_own_ ? values_[own_at_] : static_cast<const std::byte*>(call_.from);
  if (call_.bytes != 0) {
    if (!has_own_) own = data_of(call_.from, *call_.type);
    copy_bytes(region_.own_slot(number_).payload, own, static_cast<size_t>(call_.bytes));
    access_counters::copies(call_.bytes);
  }
  publish(number_, call_.bytes);
  if (top && exchanges) {
    wake_group(group);
    phase_ = Phase::across;
  } else {
    region_.wake(top ? hierarchy_->top_delegate(call_.root) : group.members[0]);
    phase_ = exchanges ? Phase::down : Phase::to_root;
  }
  return true;
}

bool TreeSlots::go_across() {
  const Hierarchy::Group& group = hierarchy_->groups().back();
  for (; next_ >= 0; --next_) {
    if (next_ == static_cast<int>(group.own)) {
      fold_own();
      continue;
    }
    const std::byte* payload;
    if (!poll(group.members[static_cast<size_t>(next_)], number_, call_.bytes, payload)) return false;
    fold(payload);
  }
  // All ranks have published their lag now.
  region_.learn(number_, lag_);
  phase_ = call_.root < 0 ? Phase::down : Phase::to_root;
  return true;
}

bool TreeSlots::go_down() {
  const std::byte* result = values_[1 - own_at_];
  if (!hierarchy_->is_top() &&
      !poll(hierarchy_->groups().back().members[0], number_ + 1, call_.bytes, result))
    return false;
  // A leader publishes to all groups that it leads: all of its groups but the last.
  const size_t led = hierarchy_->groups().size() - 1;
  if (led > 0) {
    if (!may_publish(number_ + 1)) return false;
    if (call_.bytes != 0 && result != nullptr) {
      copy_bytes(region_.own_slot(number_ + 1).payload, result, static_cast<size_t>(call_.bytes));
      access_counters::copies(call_.bytes);
    }
    publish(number_ + 1, call_.bytes);
    for (size_t level = 0; level < led; ++level) wake_group(hierarchy_->groups()[level]);
  }
  if (call_.bytes != 0 && result != nullptr) {
    copy_bytes(data_of(call_.to, *call_.type), result, static_cast<size_t>(call_.bytes));
    access_counters::copies(call_.bytes);
  }
  region_.learn(number_, lag_);
  phase_ = Phase::over;
  return true;
}

bool TreeSlots::serve_root() {
  const int above_root = hierarchy_->top_delegate(call_.root);
  const std::byte* result = values_[1 - own_at_];
  if (rank_ == above_root && rank_ != call_.root) {
    if (!may_publish(number_ + 1)) return false;
    copy_bytes(region_.own_slot(number_ + 1).payload, result, static_cast<size_t>(call_.bytes));
    access_counters::copies(call_.bytes);
    publish(number_ + 1, call_.bytes);
    region_.wake(call_.root);
  } else if (rank_ == call_.root) {
    if (rank_ != above_root && !poll(above_root, number_ + 1, call_.bytes, result)) return false;
    if (result != nullptr) {
      copy_bytes(data_of(call_.to, *call_.type), result, static_cast<size_t>(call_.bytes));
      access_counters::copies(call_.bytes);
    }
  }
  phase_ = Phase::over;
  return true;
}

// Forwards the data as they were read, even if this rank's buffer is shorter.
bool TreeSlots::pass_on() {
  if (next_ < 0) {
    const int source = hierarchy_->read_by_self(call_.root);
    if (source >= 0) {
      if (!poll(source, number_, call_.bytes, passed_on_)) return false;
      if (passed_on_ != nullptr) {
        unpack_all(passed_on_, call_.to, *call_.type, std::min(read_bytes_, call_.bytes));
        access_counters::copies(call_.bytes);
      }
    }
    next_ = 0;
  }
  const auto& groups = hierarchy_->groups();
  const auto publishes_in = [&](size_t level) {
    return groups[level].members.size() > 1 && hierarchy_->publisher(level, call_.root) == rank_;
  };
  bool publishes = false;
  for (size_t level = 0; level < groups.size(); ++level) publishes |= publishes_in(level);
  if (publishes) {
    if (!may_publish(number_)) return false;
    std::byte* const place = region_.own_slot(number_).payload;
    int64_t bytes = call_.bytes;
    if (passed_on_ != nullptr) {
      bytes = read_bytes_;
      copy_bytes(place, passed_on_, static_cast<size_t>(bytes));
    } else {
      pack_all(call_.to, *call_.type, place, bytes);
    }
    access_counters::copies(bytes);
    publish(number_, bytes);
    for (size_t level = 0; level < groups.size(); ++level) {
      if (publishes_in(level)) wake_group(groups[level]);
    }
  }
  phase_ = Phase::over;
  return true;
}

bool TreeSlots::gather_group() {
  const Hierarchy::Group& group = hierarchy_->groups()[0];
  const int leader = group.members[0];
  std::byte* const own = coll::advance(call_.to, *call_.type, rank_ * call_.count);
  if (call_.from_type != nullptr && !has_kept_own_) {
    has_kept_own_ = true;
    outcome = datatype::copy(call_.from, call_.from_count, *call_.from_type, own, call_.count, *call_.type);
    access_counters::copies(call_.bytes);
  }
  if (leader != rank_) {
    if (!may_publish(number_)) return false;
    pack_all(own, *call_.type, region_.own_slot(number_).payload, call_.bytes);
    access_counters::copies(call_.bytes);
    publish(number_, call_.bytes);
    region_.wake(leader);
  } else {
    if (!may_publish(number_ + 1)) return false;
    std::byte* blocks = region_.own_slot(number_ + 1).payload;
    for (; next_ > 0; --next_) {
      const std::byte* payload;
      if (!poll(group.members[static_cast<size_t>(next_)], number_, call_.bytes, payload)) return false;
      if (payload == nullptr) continue;
      copy_bytes(blocks + next_ * call_.bytes, payload, static_cast<size_t>(call_.bytes));
      access_counters::copies(call_.bytes);
    }
    pack_all(own, *call_.type, blocks, call_.bytes);
    access_counters::copies(call_.bytes);
    publish(number_ + 1, static_cast<int64_t>(group.members.size()) * call_.bytes);
    region_.wake_all();
  }
  next_ = static_cast<int>(hierarchy_->lowest_groups().size()) - 1;
  phase_ = Phase::concatenate;
  return true;
}

bool TreeSlots::read_leaders() {
  for (; next_ >= 0; --next_) {
    const std::vector<int>& group = hierarchy_->lowest_groups()[static_cast<size_t>(next_)];
    const std::byte* payload = region_.own_slot(number_ + 1).payload;
    if (group[0] != rank_ &&
        !poll(group[0], number_ + 1, static_cast<int64_t>(group.size()) * call_.bytes, payload))
      return false;
    if (payload == nullptr) continue;
    for (size_t member = 0; member < group.size(); ++member) {
      if (group[member] == rank_) continue;
      unpack_all(payload + static_cast<int64_t>(member) * call_.bytes,
                 coll::advance(call_.to, *call_.type, group[member] * call_.count), *call_.type, call_.bytes);
      access_counters::copies(call_.bytes);
    }
  }
  region_.learn(number_, lag_);
  phase_ = Phase::over;
  return true;
}

}  // namespace hearth::coll
