#include "coll/flat_slots.h"

#include <algorithm>

#include "coll/access_counters.h"
#include "coll/blocks.h"
#include "coll/mismatch.h"
#include "coll/slot_data.h"
#include "mpi.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::coll {

namespace {

[[gnu::cold]] Status unequal(int rank, int64_t heard, int64_t expected) {
  return fail(
      MPI_ERR_TRUNCATE,
      "rank %d gave %lld bytes where this one expects %lld. Likely cause: count or datatype differ between "
      "the ranks that call the collective",
      rank, static_cast<long long>(heard), static_cast<long long>(expected));
}

}  // namespace

// Setting the collective.

void FlatSlots::set_data(const void* elements, Type& type, int64_t bytes, int to) {
  out_.data = elements;
  out_.type = &type;
  out_.bytes = bytes;
  out_.reader = to;
}

void FlatSlots::set_ranks(int first, int last) {
  read_.first = first;
  read_.last = last;
  read_.all = first == region_.size() - 1 && last == 0;
}

void FlatSlots::copy_to(void* elements, Count each, Type& type, bool blocks) {
  in_.use = Use::copy;
  in_.to = elements;
  in_.count = each;
  in_.type = &type;
  in_.blocks = blocks;
  in_.bytes = in_.expected_bytes = each * type.size;
}

void FlatSlots::keep_own(const void* from, Count from_count, Type& from_type, void* to, Count to_count,
                         Type& to_type) {
  kept_ = {from, from_count, &from_type, to, to_count, &to_type};
}

void FlatSlots::fold(const void* own, void* result, Count count, Type& type, Op& op) {
  in_.use = Use::fold;
  operands_.own = own;
  in_.to = result;
  in_.count = count;
  in_.type = &type;
  in_.op = &op;
  in_.bytes = in_.expected_bytes = count * type.size;
  if (room_ != nullptr) {
    const bool too_long = overflows(in_.bytes);
    std::byte* const room = too_long ? region_.operand_room() : room_->bytes[0];
    operands_.incoming = room - type.true_lower_bound;
    operands_.result = operands_.incoming + (too_long ? shm::kOverflowPayloadBytes : sizeof room_->bytes[0]);
  }
  // For a few bytes, the copy costs less than checking whether it can be avoided.
  if (!overflows(in_.bytes) || !type.contiguous || !folds_in_place(op, type)) return;
  operands_.keeps_first = true;
  // In place, the own operand must last until it is reduced. With two ranks this is when the result is
  // written.
  if (own != result || region_.size() == 2) operands_.result = static_cast<std::byte*>(result);
}

void FlatSlots::barrier() {
  kind_ = Collective::barrier;
  set_data(nullptr, byte_type(), 0, kAll);
  set_ranks(region_.size() - 1, 0);
}

void FlatSlots::bcast(void* buffer, Count count, Type& type, int root) {
  kind_ = Collective::bcast;
  if (rank_ == root) return set_data(buffer, type, count * type.size, kAll);
  copy_to(buffer, count, type, false);
  set_ranks(root, root);
}

void FlatSlots::gather(const void* send, Count send_count, Type& send_type, void* receive,
                       Count receive_count, Type& receive_type, int root) {
  kind_ = Collective::gather;
  if (rank_ != root) return set_data(send, send_type, send_count * send_type.size, root);
  if (send != MPI_IN_PLACE) {
    keep_own(send, send_count, send_type, coll::advance(receive, receive_type, root * receive_count),
             receive_count, receive_type);
  }
  copy_to(receive, receive_count, receive_type, true);
  set_ranks(region_.size() - 1, 0);
}

void FlatSlots::scatter(const void* send, Count send_count, Type& send_type, void* receive,
                        Count receive_count, Type& receive_type, int root) {
  kind_ = Collective::scatter;
  const int size = region_.size();
  if (rank_ == root) {
    set_data(send, send_type, size * send_count * send_type.size, kAll);
    out_.blocks = true;
    if (receive == MPI_IN_PLACE) return;
    return keep_own(coll::advance(send, send_type, root * send_count), send_count, send_type, receive,
                    receive_count, receive_type);
  }
  copy_to(receive, receive_count, receive_type, false);
  in_.offset = rank_ * in_.bytes;
  in_.expected_bytes = size * in_.bytes;
  set_ranks(root, root);
}

void FlatSlots::allgather(const void* send, Count send_count, Type& send_type, void* receive,
                          Count receive_count, Type& receive_type) {
  kind_ = Collective::allgather;
  std::byte* own = coll::advance(receive, receive_type, rank_ * receive_count);
  copy_to(receive, receive_count, receive_type, true);
  set_ranks(region_.size() - 1, 0);
  if (send == MPI_IN_PLACE) return set_data(own, receive_type, in_.bytes, kAll);
  set_data(send, send_type, send_count * send_type.size, kAll);
  keep_own(send, send_count, send_type, own, receive_count, receive_type);
}

void FlatSlots::alltoall(const void* send, Count send_count, Type& send_type, void* receive,
                         Count receive_count, Type& receive_type) {
  kind_ = Collective::alltoall;
  const int size = region_.size();
  copy_to(receive, receive_count, receive_type, true);
  in_.offset = rank_ * in_.bytes;
  in_.expected_bytes = size * in_.bytes;
  out_.blocks = true;
  set_ranks(size - 1, 0);
  if (send == MPI_IN_PLACE) return set_data(receive, receive_type, in_.expected_bytes, kAll);
  set_data(send, send_type, size * send_count * send_type.size, kAll);
  keep_own(coll::advance(send, send_type, rank_ * send_count), send_count, send_type,
           coll::advance(receive, receive_type, rank_ * receive_count), receive_count, receive_type);
}

void FlatSlots::reduce(const void* send, void* receive, Count count, Type& type, Op& op, int root) {
  kind_ = Collective::reduce;
  const void* own = send == MPI_IN_PLACE ? receive : send;
  if (rank_ != root) return set_data(own, type, count * type.size, root);
  fold(own, receive, count, type, op);
  set_ranks(region_.size() - 1, 0);
}

void FlatSlots::allreduce(const void* send, void* receive, Count count, Type& type, Op& op) {
  kind_ = Collective::allreduce;
  const void* own = send == MPI_IN_PLACE ? receive : send;
  set_data(own, type, count * type.size, kAll);
  fold(own, receive, count, type, op);
  set_ranks(region_.size() - 1, 0);
}

void FlatSlots::reduce_scatter_block(const void* send, void* receive, Count count, Type& type, Op& op) {
  kind_ = Collective::reduce_scatter;
  const void* own = send == MPI_IN_PLACE ? receive : send;
  const int size = region_.size();
  fold(coll::advance(own, type, rank_ * count), receive, count, type, op);
  in_.offset = rank_ * in_.bytes;
  in_.expected_bytes = size * in_.bytes;
  set_data(own, type, in_.expected_bytes, kAll);
  out_.blocks = true;
  set_ranks(size - 1, 0);
}

void FlatSlots::scan(const void* send, void* receive, Count count, Type& type, Op& op) {
  kind_ = Collective::scan;
  const void* own = send == MPI_IN_PLACE ? receive : send;
  set_data(own, type, count * type.size, kAll);
  fold(own, receive, count, type, op);
  set_ranks(rank_, 0);
}

void FlatSlots::exscan(const void* send, void* receive, Count count, Type& type, Op& op) {
  kind_ = Collective::scan;
  const void* own = send == MPI_IN_PLACE ? receive : send;
  set_data(own, type, count * type.size, kAll);
  fold(nullptr, receive, count, type, op);
  set_ranks(rank_ - 1, 0);
}

// Execution.

bool FlatSlots::advance() {
  if (!has_published_ && !publish_data()) return false;
  if (!read_slots()) return false;
  if (operands_.has_result) keep_result();
  if (read_.all) region_.learn(number_, lag_);
  region_.end(number_);
  return true;
}

int FlatSlots::root() const {
  switch (kind_) {
    case Collective::gather:
    case Collective::reduce:
      return out_.reader == kNobody ? rank_ : out_.reader;
    case Collective::bcast:
    case Collective::scatter:
      return out_.reader == kNobody ? read_.first : rank_;
    default:
      return shm::kNoRoot;
  }
}

void FlatSlots::describe(p2p::WaitDiagnostics& note) const {
  if (!has_published_ && out_.reader != kNobody) return note.missing(awaited);
  for (int rank = read_.next; rank >= read_.last; --rank) {
    const shm::CollectiveSlot* slot;
    SlotHeader header;
    if (rank != rank_ && !region_.poll(rank, number_, slot, header)) note.missing(region_.process(rank));
  }
}

// Publishes the data first and then copies the own block, so that other ranks can proceed.
bool FlatSlots::publish_data() {
  if (out_.reader != kNobody) {
    if (__builtin_expect(!region_.may_write(number_, awaited), 0)) return false;
    put_data(region_.own_payload(number_, out_.bytes));
    region_.publish(number_, what_of(out_.bytes, kind_, generation_));
    if (out_.reader == kAll) {
      region_.wake_all();
    } else {
      region_.wake(out_.reader);
    }
    const int64_t each = out_.blocks ? out_.bytes / region_.size() : 0;
    region_.prefetch_next(number_, out_.bytes, {each * rank_, each});
  }
  if (kept_.from_type != nullptr) {
    outcome = datatype::copy(kept_.from, kept_.from_count, *kept_.from_type, kept_.to, kept_.to_count,
                             *kept_.to_type);
    access_counters::copies(kept_.from_count * kept_.from_type->size);
  }
  has_published_ = true;
  return true;
}

void FlatSlots::put_data(std::byte* payload) const {
  if (!overflows(out_.bytes) || !out_.blocks || !out_.type->contiguous) {
    access_counters::copies(out_.bytes);
    return pack_all(out_.data, *out_.type, payload, out_.bytes);
  }
  const auto all = static_cast<size_t>(out_.bytes);
  const size_t each = all / static_cast<size_t>(region_.size());
  const size_t before = each * static_cast<size_t>(rank_);
  const std::byte* const data = data_of(out_.data, *out_.type);
  access_counters::copies(out_.bytes - static_cast<int64_t>(each));
  copy_bytes(payload, data, before);
  copy_bytes(payload + before + each, data + before + each, all - before - each);
}

bool FlatSlots::read_slots() {
  for (; read_.next >= read_.last; --read_.next) {
    if (read_.next == rank_) {
      if (operands_.own != nullptr) fold_in(operands_.own);
      continue;
    }
    const shm::CollectiveSlot* slot;
    SlotHeader header;
    if (!region_.poll(read_.next, number_, slot, header)) {
      awaited = region_.process(read_.next);
      return false;
    }
    lag_ = std::max(lag_, header.lag());
    // The other ranks have probably published as well.
    if (read_.next == read_.first && overflows(in_.expected_bytes))
      region_.prefetch_to_read(number_, read_.next - 1, read_.last, in_.offset, in_.bytes);
    take(read_.next, *slot, header);
  }
  return true;
}

void FlatSlots::take(int rank, const shm::CollectiveSlot& slot, const SlotHeader& header) {
  if (__builtin_expect(header.what() != expected_, 0) && !is_of_use(rank, header)) return;
  if (in_.use == Use::nothing) return;
  const std::byte* payload = region_.payload(rank, slot, header) + in_.offset;
  access_counters::reads(payload, in_.bytes);
  if (in_.use == Use::copy) {
    const int64_t bytes = std::clamp<int64_t>(header.bytes() - in_.offset, 0, in_.bytes);
    access_counters::copies(bytes);
    unpack_all(payload, in_.blocks ? coll::advance(in_.to, *in_.type, rank * in_.count) : in_.to, *in_.type,
               bytes);
  } else if (in_.type->contiguous && (!operands_.has_result || folds_in_place(*in_.op, *in_.type))) {
    fold_in(payload - in_.type->true_lower_bound);
  } else {
    unpack_all(payload, operands_.incoming, *in_.type, in_.bytes);
    fold_in(operands_.incoming);
  }
}

// Handles data that differ from what was expected; returns whether they are used. Shorter data are no error
// if they are only copied and fit a slot.
bool FlatSlots::is_of_use(int rank, const SlotHeader& header) {
  if (!header.is_after(generation_)) {
    note(region_.fall_out_of_step(rank));
    return false;
  }
  if (header.kind() != kind_) {
    const MismatchedCall other{rank, header.kind(), header.bytes()};
    const MismatchedCall own{rank_, kind_, in_.expected_bytes};
    // A hierarchical collective takes two sequence numbers: the ranks are out of step after it.
    const bool stays = region_.tree_bytes_max(header.kind()) < 0;
    note(stays ? mismatch_error(other, own) : region_.fall_out_of_step(other, own));
    return false;
  }
  const bool overflows = std::max(header.bytes(), in_.expected_bytes) > shm::kSlotPayloadBytes;
  if (header.bytes() > in_.expected_bytes || in_.use == Use::fold || overflows) {
    note(unequal(rank, header.bytes(), in_.expected_bytes));
  }
  return in_.use == Use::copy;
}

// Skips a rank that will not publish.
void FlatSlots::skip(int rank, Status status) {
  constexpr uint32_t kUnknown = 1u << 30;
  note(status);
  lag_ = kUnknown;
  if (rank == read_.next) --read_.next;
}

// A rank that is in a long collective at this position publishes nothing here. A process that may not write
// its slot yet waits for all ranks, and a rank that is out of step never frees the slot.
bool FlatSlots::check_failure() {
  if (const Status failure = region_.failure(); !failure.ok()) {
    note(failure);
    region_.end(number_);
    return true;
  }
  if (region_.is_out_of_step(rank_)) {
    note(region_.fall_out_of_step(read_.next >= 0 ? read_.next : rank_));
    region_.end(number_);
    return true;
  }
  if (!has_published_) {
    for (int rank = 0; rank < region_.size(); ++rank) {
      if (!region_.is_out_of_step(rank)) continue;
      skip(rank, region_.fall_out_of_step(rank));
      region_.end(number_);
      return true;
    }
    return false;
  }
  CallHeader long_call;
  if (region_.is_out_of_step(read_.next)) {
    skip(read_.next, region_.fall_out_of_step(read_.next));
  } else if (region_.poll_call(read_.next, generation_ + 1, long_call) &&
             long_call.small_begun() == static_cast<uint8_t>(number_ - 1)) {
    skip(read_.next, region_.fall_out_of_step({read_.next, long_call.kind(), long_call.bytes()},
                                              {rank_, kind_, std::max(in_.expected_bytes, out_.bytes)}));
  } else {
    return false;
  }
  return advance();
}

void FlatSlots::fold_in(const void* elements) {
  Status status;
  if (operands_.first != nullptr) {
    access_counters::reduces(in_.bytes);
    const void* const operands[] = {elements, operands_.first};
    status = datatype::reduce_all(*in_.op, *in_.type, operands, operands_.result, in_.count);
    operands_.first = nullptr;
  } else if (operands_.has_result) {
    access_counters::reduces(in_.bytes);
    status = datatype::reduce(*in_.op, *in_.type, elements, operands_.result, in_.count);
  } else if (operands_.has_result = true; operands_.keeps_first) {
    operands_.first = elements;
  } else {
    access_counters::copies(in_.bytes);
    if (in_.type->contiguous) {
      copy_bytes(data_of(static_cast<void*>(operands_.result), *in_.type), data_of(elements, *in_.type),
                 static_cast<size_t>(in_.bytes));
    } else {
      status = datatype::copy(elements, in_.count, *in_.type, operands_.result, in_.count, *in_.type);
    }
  }
  note(status);
}

void FlatSlots::keep_result() {
  const void* const result = operands_.first != nullptr ? operands_.first : operands_.result;
  if (result == in_.to) return;
  access_counters::copies(in_.bytes);
  if (in_.type->contiguous) {
    copy_bytes(data_of(in_.to, *in_.type), data_of(result, *in_.type), static_cast<size_t>(in_.bytes));
  } else {
    note(datatype::copy(operands_.result, in_.count, *in_.type, in_.to, in_.count, *in_.type));
  }
}

}  // namespace hearth::coll
