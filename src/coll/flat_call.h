// Blocking collectives in flat slots (coll/flat_slots.h) as direct code: publish the own data, read the slots
// of the other ranks, return. A FlatCall has no state that a later call of advance() would continue, so it
// completes a collective only while every rank is on time and all calls match:
//
//   publish -> read -> ... -> read -> end      complete
//      |        |               |
//      +--------+---------------+------------> late: FlatSlots completes it and reports its errors
//
// Its functions return false if a slot is not free, if a rank has not published within the polling rounds of
// the call, or if a rank published another kind or length of data. The caller then runs a FlatSlots from
// progress(), which reads all slots from the beginning: no rank overwrites a slot before this one has ended
// the collective, and reductions write their result last. So the operands of a repeated reduction are
// unchanged, also in place; operations of the program are not called here, because they would be called
// again.
//
// All data fit the payload of a slot (fits()). Reductions that folds_in_place() excludes, and those of
// elements with gaps, are left to FlatSlots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "coll/access_counters.h"
#include "coll/blocks.h"
#include "coll/collective_region.h"
#include "coll/flat_slots.h"
#include "coll/slot_data.h"
#include "datatype/reduce.h"
#include "datatype/type.h"
#include "mpi.h"

namespace hearth::coll {

class FlatCall {
 public:
  /// Polling rounds of a call in a process that spins (p2p::Engine::spins()).
  static constexpr int kRounds = 64;

  /// Takes the next sequence number of the region. `rounds`: for all reads of the call together, at least 1.
  FlatCall(CollectiveRegion& region, Collective kind, int rounds)
      : region_(region),
        number_(region.next_number()),
        generation_(region.pipeline_ring().generations_begun()),
        rounds_(rounds),
        kind_(kind) {}

  /// Whether data of this many bytes fit the payload of a slot.
  static bool fits(int64_t bytes) { return bytes <= shm::kSlotPayloadBytes; }

  /// Where FlatSlots continues. The first error so far: that of the copy of the own block.
  FlatProgress progress() const { return {number_, has_published_, outcome_}; }
  Status outcome() const { return outcome_; }

  // The collectives, with the arguments of the MPI calls, like those of FlatSlots. True: complete.

  bool barrier() {
    return publish({}) && read_all(0, [](int, const std::byte*) {});
  }

  bool bcast(void* buffer, Count count, Type& type, int root) {
    const int64_t bytes = count * type.size;
    if (region_.rank() == root) return publish({buffer, &type, bytes}) && end();
    const std::byte* const data = read(root, bytes);
    if (data == nullptr) return false;
    store(data, buffer, type, bytes);
    return end();
  }

  bool gather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
              Type& receive_type, int root) {
    if (region_.rank() != root)
      return publish({send, &send_type, send_count * send_type.size}, root) && end();
    has_published_ = true;
    if (send != MPI_IN_PLACE)
      copy_own(block(send, send_count, send_type, 0), block(receive, receive_count, receive_type, root));
    return read_blocks(receive, receive_count, receive_type, {});
  }

  bool scatter(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
               Type& receive_type, int root) {
    if (region_.rank() == root) {
      if (!publish({send, &send_type, region_.size() * send_count * send_type.size})) return false;
      if (receive != MPI_IN_PLACE)
        copy_own(block(send, send_count, send_type, root), {receive, receive_count, receive_type});
      return end();
    }
    const int64_t bytes = receive_count * receive_type.size;
    const std::byte* const data = read(root, region_.size() * bytes);
    if (data == nullptr) return false;
    store(data + region_.rank() * bytes, receive, receive_type, bytes);
    return end();
  }

  bool allgather(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                 Type& receive_type) {
    const Elements own = block(receive, receive_count, receive_type, region_.rank());
    if (send == MPI_IN_PLACE) {
      if (!publish({own.address, &receive_type, receive_count * receive_type.size})) return false;
    } else {
      if (!publish({send, &send_type, send_count * send_type.size})) return false;
      copy_own(block(send, send_count, send_type, 0), own);
    }
    return read_blocks(receive, receive_count, receive_type, {});
  }

  bool alltoall(const void* send, Count send_count, Type& send_type, void* receive, Count receive_count,
                Type& receive_type) {
    const int rank = region_.rank();
    const int64_t bytes = receive_count * receive_type.size;
    if (send == MPI_IN_PLACE) {
      if (!publish({receive, &receive_type, region_.size() * bytes})) return false;
    } else {
      if (!publish({send, &send_type, region_.size() * send_count * send_type.size})) return false;
      copy_own(block(send, send_count, send_type, rank), block(receive, receive_count, receive_type, rank));
    }
    return read_blocks(receive, receive_count, receive_type,
                       {.offset = rank * bytes, .bytes = region_.size() * bytes});
  }

  bool reduce(const void* send, void* receive, Count count, Type& type, Op& op, int root) {
    const void* const own = send == MPI_IN_PLACE ? receive : send;
    if (region_.rank() != root) return publish({own, &type, count * type.size}, root) && end();
    datatype::ReduceKernel* const kernel = kernel_of(op, type);
    has_published_ = true;
    return kernel != nullptr && fold({own, receive, count, type, kernel, region_.size() - 1}, {});
  }
  bool allreduce(const void* send, void* receive, Count count, Type& type, Op& op) {
    const void* const own = send == MPI_IN_PLACE ? receive : send;
    datatype::ReduceKernel* const kernel = kernel_of(op, type);
    return kernel != nullptr && publish({own, &type, count * type.size}) &&
           fold({own, receive, count, type, kernel, region_.size() - 1}, {});
  }
  bool reduce_scatter_block(const void* send, void* receive, Count count, Type& type, Op& op) {
    const void* const all = send == MPI_IN_PLACE ? receive : send;
    const void* const own = coll::advance(all, type, region_.rank() * count);
    const int64_t bytes = count * type.size;
    datatype::ReduceKernel* const kernel = kernel_of(op, type);
    return kernel != nullptr && publish({all, &type, region_.size() * bytes}) &&
           fold({own, receive, count, type, kernel, region_.size() - 1},
                {.offset = region_.rank() * bytes, .bytes = region_.size() * bytes});
  }
  bool scan(const void* send, void* receive, Count count, Type& type, Op& op) {
    const void* const own = send == MPI_IN_PLACE ? receive : send;
    datatype::ReduceKernel* const kernel = kernel_of(op, type);
    return kernel != nullptr && publish({own, &type, count * type.size}) &&
           fold({own, receive, count, type, kernel, region_.rank()}, {});
  }
  bool exscan(const void* send, void* receive, Count count, Type& type, Op& op) {
    const void* const own = send == MPI_IN_PLACE ? receive : send;
    datatype::ReduceKernel* const kernel = kernel_of(op, type);
    if (kernel == nullptr || !publish({own, &type, count * type.size})) return false;
    if (region_.rank() == 0) return end();
    return fold({nullptr, receive, count, type, kernel, region_.rank() - 1}, {});
  }

 private:
  static constexpr int kAll = -1;

  /// The data that this rank publishes.
  struct Data {
    const void* elements = nullptr;
    const Type* type = nullptr;
    int64_t bytes = 0;
  };
  struct Elements {
    void* address;
    Count count;
    Type& type;
  };
  /// The part of each rank's data that is used: from `offset` on, of `bytes` in all; 0: of the elements.
  struct Extract {
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  struct Fold {
    const void* own;  // nullptr: this rank has no operand
    void* result;
    Count count;
    Type& type;
    datatype::ReduceKernel* kernel;
    int first;  // the highest rank that has an operand
  };

  /// The block of a rank. The address of data to send is not written through.
  static Elements block(const void* buffer, Count count, Type& type, int rank) {
    return {const_cast<std::byte*>(coll::advance(buffer, type, rank * count)), count, type};
  }
  /// The kernel of a reduction that is executed here; nullptr for any other.
  static datatype::ReduceKernel* kernel_of(const objects::Op& op, const Type& type) {
    return folds_in_place(op, type) && type.contiguous ? datatype::reduce_kernel(op.kind, type.element)
                                                       : nullptr;
  }

  bool publish(const Data& data, int reader = kAll) {
    objects::PeerIndex awaited;
    if (!region_.may_write(number_, awaited)) [[unlikely]]
      return false;
    if (data.bytes != 0) {
      access_counters::copies(data.bytes);
      pack_all(data.elements, *data.type, region_.own_slot(number_).payload, data.bytes);
    }
    region_.publish(number_, what_of(data.bytes, kind_, generation_));
    if (reader == kAll) {
      region_.wake_all();
    } else {
      region_.wake(reader);
    }
    return has_published_ = true;
  }

  /// Polls the slot of a rank until it holds this many bytes of this collective; nullptr if it does not in
  /// time.
  const std::byte* read(int rank, int64_t bytes) {
    const shm::CollectiveSlot* slot;
    SlotHeader header;
    while (!region_.poll(rank, number_, slot, header)) {
      if (--rounds_ <= 0) return nullptr;
      atomic::cpu_relax();
    }
    if (header.what() != what_of(bytes, kind_, generation_)) [[unlikely]]
      return nullptr;
    lag_ = std::max(lag_, header.lag());
    access_counters::reads(slot->payload, bytes);
    return slot->payload;
  }

  /// Calls use(rank, payload) for each other rank, from the last to the first, and ends the collective.
  template <class Use>
  bool read_all(int64_t bytes, const Use& use) {
    for (int rank = region_.size() - 1; rank >= 0; --rank) {
      if (rank == region_.rank()) continue;
      const std::byte* const data = read(rank, bytes);
      if (data == nullptr) return false;
      use(rank, data);
    }
    region_.learn(number_, lag_);
    return end();
  }

  bool read_blocks(void* receive, Count count, Type& type, const Extract& extract) {
    const int64_t bytes = count * type.size;
    return read_all(extract.bytes == 0 ? bytes : extract.bytes, [&](int rank, const std::byte* data) {
      store(data + extract.offset, coll::advance(receive, type, rank * count), type, bytes);
    });
  }

  /// Combines the operands of ranks `first` to 0, in this order, each as the left one. The last step writes
  /// the result.
  bool fold(const Fold& call, const Extract& extract) {
    const int64_t bytes = call.count * call.type.size;
    const int64_t all_bytes = extract.bytes == 0 ? bytes : extract.bytes;
    const int64_t lower_bound = call.type.true_lower_bound;
    alignas(shm::kLineBytes) std::byte partial[shm::kSlotPayloadBytes];
    const std::byte* right = nullptr;
    for (int rank = call.first; rank >= 0; --rank) {
      const std::byte* left = static_cast<const std::byte*>(call.own);
      if (rank != region_.rank()) {
        left = read(rank, all_bytes);
        if (left == nullptr) return false;
        left += extract.offset - lower_bound;
      }
      if (right == nullptr) {
        right = left;
        continue;
      }
      access_counters::reduces(bytes);
      std::byte* const to = rank == 0 ? static_cast<std::byte*>(call.result) : partial - lower_bound;
      call.kernel(left, right, to, static_cast<size_t>(call.count));
      right = to;
    }
    if (call.first == 0 && right != call.result)
      store(data_of(right, call.type), call.result, call.type, bytes);
    if (call.first == region_.size() - 1) region_.learn(number_, lag_);
    return end();
  }

  static void store(const std::byte* data, void* elements, const Type& type, int64_t bytes) {
    access_counters::copies(bytes);
    unpack_all(data, elements, type, bytes);
  }

  /// Copies the own block to its place in the result.
  void copy_own(const Elements& from, const Elements& to) {
    const int64_t bytes = from.count * from.type.size;
    if (from.type.contiguous && to.type.contiguous && bytes == to.count * to.type.size) [[likely]] {
      access_counters::copies(bytes);
      copy_bytes(data_of(to.address, to.type), data_of(from.address, from.type), static_cast<size_t>(bytes));
    } else {
      outcome_ = datatype::copy(from.address, from.count, from.type, to.address, to.count, to.type);
    }
  }

  bool end() {
    region_.end(number_);
    return true;
  }

  CollectiveRegion& region_;
  const uint32_t number_;
  const uint64_t generation_;
  int rounds_;
  uint32_t lag_ = 0;
  const Collective kind_;
  bool has_published_ = false;
  Status outcome_;
};

}  // namespace hearth::coll
