#include "base/os_ring.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/atomic.h"
#include "base/chaos.h"

namespace hearth::os {

template <class T>
T& FileRing::at(const Mapping& mapping, uint32_t offset) {
  return *reinterpret_cast<T*>(static_cast<std::byte*>(mapping.begin) + offset);
}

bool FileRing::map(Mapping& mapping, size_t bytes, uint64_t what) const {
  void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                             ring_.number(), static_cast<off_t>(what));
  if (begin == MAP_FAILED) return false;
  ::madvise(begin, bytes, MADV_DONTFORK);
  mapping = {begin, bytes};
  return true;
}

bool FileRing::open() {
  if (std::exchange(tried_, true)) return ring_.open();
  // Injected faults are those of read and write calls, which replace the ring.
  if (chaos::detail::armed) return false;
  io_uring_params params = {};
  ring_ = Descriptor(static_cast<int>(::syscall(SYS_io_uring_setup, kEntries, &params)));
  if (!ring_.open()) return false;
  set_close_on_exec(ring_.number(), true);
  const bool mapped =
      map(submissions_, params.sq_off.array + params.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING) &&
      map(completions_, params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING) &&
      map(entries_, params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  if (!mapped) {
    close();
    return false;
  }
  submission_tail_ = params.sq_off.tail;
  submission_mask_ = params.sq_off.ring_mask;
  submission_array_ = params.sq_off.array;
  completion_head_ = params.cq_off.head;
  completion_tail_ = params.cq_off.tail;
  completion_mask_ = params.cq_off.ring_mask;
  completion_entries_ = params.cq_off.cqes;
  return true;
}

bool FileRing::submit(const RingTransfer& transfer, uint64_t tag) {
  // Each submission is passed to the kernel at once, so the submission queue is empty here.
  if (!ring_.open() || in_flight_ >= static_cast<int>(kEntries)) return false;
  uint32_t& tail = at<uint32_t>(submissions_, submission_tail_);
  const uint32_t position = tail;
  const uint32_t index = position & at<uint32_t>(submissions_, submission_mask_);
  io_uring_sqe& entry = static_cast<io_uring_sqe*>(entries_.begin)[index];
  std::memset(&entry, 0, sizeof entry);
  entry.opcode = transfer.writing ? IORING_OP_WRITE : IORING_OP_READ;
  // Without this flag a copy from or to the page cache is made inside the call.
  entry.flags = IOSQE_ASYNC;
  entry.fd = transfer.descriptor;
  entry.addr = reinterpret_cast<uintptr_t>(transfer.memory);
  entry.len = static_cast<uint32_t>(std::min(transfer.bytes, kRingBytesMax));
  entry.off = static_cast<uint64_t>(transfer.offset);
  entry.user_data = tag;
  at<uint32_t>(submissions_, submission_array_ + index * static_cast<uint32_t>(sizeof(uint32_t))) = index;
  // Pairs with the kernel's load: the entry is complete.
  atomic::store_release(tail, position + 1);
  for (;;) {
    const long taken = ::syscall(SYS_io_uring_enter, ring_.number(), 1, 0, 0, nullptr, 0);
    if (taken == 1) break;
    if (taken < 0 && errno == EINTR) continue;
    // Not taken: the kernel has not read the entry, which another submission overwrites.
    atomic::store_release(tail, position);
    return false;
  }
  ++in_flight_;
  return true;
}

bool FileRing::poll(uint64_t& tag, int32_t& result) {
  if (in_flight_ == 0) return false;
  uint32_t& head = at<uint32_t>(completions_, completion_head_);
  // Pairs with the kernel's store of the tail: the entry is complete.
  if (head == atomic::load_acquire(at<uint32_t>(completions_, completion_tail_))) return false;
  const uint32_t index = head & at<uint32_t>(completions_, completion_mask_);
  const auto& entry = at<io_uring_cqe>(
      completions_, completion_entries_ + index * static_cast<uint32_t>(sizeof(io_uring_cqe)));
  tag = entry.user_data;
  result = entry.res;
  // Pairs with the kernel's load of the head: the entry may be used again.
  atomic::store_release(head, head + 1);
  --in_flight_;
  return true;
}

void FileRing::wait() {
  if (in_flight_ > 0) ::syscall(SYS_io_uring_enter, ring_.number(), 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
}

void FileRing::close() {
  for (Mapping* mapping : {&submissions_, &completions_, &entries_}) {
    if (mapping->begin != nullptr) ::munmap(mapping->begin, mapping->bytes);
    *mapping = {};
  }
  ring_.reset();
}

}  // namespace hearth::os
