#include "profile/board.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/os_memory.h"
#include "base/os_wait.h"
#include "mpi.h"

namespace hearth::profile {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPeersReservedBytes = 256 << 10;

uint64_t to_pages(uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// Places in a part.
constexpr uint64_t kCallsAt = sizeof(RankHead);
constexpr uint64_t kPeersAt = kCallsAt + kCallsMax * sizeof(CallCounts);
uint64_t comms_at(uint32_t ranks) {
  return to_pages(kPeersAt + ranks * sizeof(PeerCounts));
}
uint64_t events_at(uint32_t ranks) {
  return to_pages(comms_at(ranks) + kCommsMax * sizeof(CommCounts));
}

FileHead plan(uint32_t ranks, uint64_t trace_events) {
  FileHead head = {};
  head.magic = kMagic;
  head.rank_count = ranks;
  head.trace_events = trace_events;
  head.parts_offset = to_pages(sizeof(FileHead));
  head.part_bytes = to_pages(events_at(ranks) + trace_events * sizeof(TraceEvent));
  head.file_bytes = head.parts_offset + ranks * head.part_bytes;
  head.begun_ns = os::now_ns();
  return head;
}

unsigned long long number(uint64_t value) {
  return value;
}

}  // namespace

Board::~Board() {
  if (base_ != nullptr) os::release(base_, bytes_);
}

Board& Board::operator=(Board&& other) noexcept {
  std::swap(head_, other.head_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(self_, other.self_);
  std::swap(file_, other.file_);
  return *this;
}

Status Board::create(uint32_t ranks, uint64_t trace_events, Board& board) {
  Board made;
  made.head_ = plan(ranks, trace_events);
  made.bytes_ = made.head_.file_bytes;
  made.file_ = os::Descriptor(os::create_shared_memory("hearth profile", made.bytes_));
  void* base = made.file_.open() ? os::map_sparse(made.file_.number(), 0, made.bytes_) : nullptr;
  if (base == nullptr) {
    return fail(
        MPI_ERR_NO_MEM,
        "cannot make a sparse memory file of %llu bytes for the profile of %u ranks: %s. Remedy: raise "
        "the limits of ulimit -v and -f",
        number(made.bytes_), ranks, std::strerror(errno));
  }
  made.base_ = static_cast<std::byte*>(base);
  std::memcpy(made.base_, &made.head_, sizeof made.head_);
  board = std::move(made);
  return {};
}

Status Board::attach(os::Descriptor file, uint32_t ranks, int self, Board& board) {
  HEARTH_CHECK(self >= 0 && static_cast<uint32_t>(self) < ranks);
  Board made;
  FileHead& head = made.head_;
  if (os::read_at(file.number(), &head, sizeof head, 0) != sizeof head || head.magic != kMagic ||
      head.rank_count != ranks || head.file_bytes != os::file_bytes(file.number()) ||
      head.part_bytes < events_at(ranks) + head.trace_events * sizeof(TraceEvent)) {
    return fail(MPI_ERR_OTHER, "the file that was handed over is not the profile of %u ranks", ranks);
  }
  made.bytes_ = head.part_bytes;
  const uint64_t offset = head.parts_offset + static_cast<uint64_t>(self) * head.part_bytes;
  void* base = os::map_sparse(file.number(), offset, made.bytes_);
  // Room for what is surely used, so that counting there cannot fail later. Of many peers few are talked to.
  const uint64_t used = std::min(comms_at(ranks), kPeersAt + kPeersReservedBytes);
  if (base == nullptr || !os::reserve_room(file.number(), offset, used) ||
      (head.trace_events > 0 &&
       !os::reserve_room(file.number(), offset + events_at(ranks), head.trace_events * sizeof(TraceEvent)))) {
    if (base != nullptr) os::release(base, made.bytes_);
    return fail(MPI_ERR_NO_MEM, "no memory for this rank's part of the profile, %llu bytes",
                number(made.bytes_));
  }
  os::set_close_on_exec(file.number(), true);
  made.base_ = static_cast<std::byte*>(base);
  made.self_ = self;
  made.file_ = std::move(file);
  board = std::move(made);
  return {};
}

Part Board::part(int rank) const {
  HEARTH_CHECK(usable() && (self_ < 0 || rank == self_));
  std::byte* at = base_;
  if (self_ < 0) at += head_.parts_offset + static_cast<uint64_t>(rank) * head_.part_bytes;
  return {reinterpret_cast<RankHead*>(at),
          reinterpret_cast<CallCounts*>(at + kCallsAt),
          reinterpret_cast<PeerCounts*>(at + kPeersAt),
          reinterpret_cast<CommCounts*>(at + comms_at(head_.rank_count)),
          reinterpret_cast<TraceEvent*>(at + events_at(head_.rank_count)),
          head_.trace_events};
}

bool Board::reserve_comm(int index) const {
  const uint64_t part_at = head_.parts_offset + static_cast<uint64_t>(self_) * head_.part_bytes;
  const uint64_t first = comms_at(head_.rank_count) + static_cast<uint64_t>(index) * sizeof(CommCounts);
  const uint64_t from = first / kPage * kPage;
  return os::reserve_room(file_.number(), part_at + from, to_pages(first + sizeof(CommCounts)) - from);
}

}  // namespace hearth::profile
