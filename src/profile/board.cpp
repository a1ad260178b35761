#include "profile/board.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/os_memory.h"
#include "base/os_wait.h"
#include "mpi.h"

namespace hearth::profile {
namespace {

constexpr uint64_t kPeersReservedBytes = 256 << 10;
// Limits for the lengths in a file, so that computations with them do not overflow.
constexpr uint32_t kRanksMax = 1 << 24;
constexpr uint64_t kTraceEventsMax = uint64_t{1} << 32;
constexpr uint64_t kPageBytesMax = 1 << 20;

uint64_t to_pages(uint64_t bytes, uint64_t page) {
  return (bytes + page - 1) / page * page;
}

// Offsets in a part
constexpr uint64_t kCallsAt = sizeof(RankHead);
constexpr uint64_t kPeersAt = kCallsAt + kCallsMax * sizeof(CallCounts);
uint64_t comms_at(const FileHead& head) {
  return to_pages(kPeersAt + head.rank_count * sizeof(PeerCounts), head.page_bytes);
}
uint64_t events_at(const FileHead& head) {
  return to_pages(comms_at(head) + kCommsMax * sizeof(CommCounts), head.page_bytes);
}

FileHead plan(uint32_t ranks, uint64_t trace_events, uint64_t page) {
  FileHead head = {};
  head.magic = kMagic;
  head.rank_count = ranks;
  head.trace_events = trace_events;
  head.page_bytes = page;
  head.parts_offset = to_pages(sizeof(FileHead), page);
  head.part_bytes = to_pages(events_at(head) + trace_events * sizeof(TraceEvent), page);
  head.file_bytes = head.parts_offset + ranks * head.part_bytes;
  head.begun_ns = os::now_ns();
  head.self = -1;
  return head;
}

std::string name_of_part(int rank) {
  const std::string digits = std::to_string(rank);
  return "rank-" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits + kPartEnding;
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
  std::swap(part_at_, other.part_at_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(self_, other.self_);
  std::swap(file_, other.file_);
  return *this;
}

Status Board::create(uint32_t ranks, uint64_t trace_events, Board& board) {
  Board made;
  made.head_ = plan(ranks, trace_events, os::page_bytes());
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

bool Board::read_head(int file, FileHead& head) {
  if (os::read_at(file, &head, sizeof head, 0) != sizeof head || head.magic != kMagic ||
      head.rank_count == 0 || head.rank_count > kRanksMax || head.trace_events > kTraceEventsMax ||
      !std::has_single_bit(head.page_bytes) || head.page_bytes > kPageBytesMax) {
    return false;
  }
  const FileHead expected = plan(head.rank_count, head.trace_events, head.page_bytes);
  return head.parts_offset == expected.parts_offset && head.part_bytes == expected.part_bytes;
}

Status Board::attach(os::Descriptor file, uint32_t ranks, int self, Board& board) {
  HEARTH_CHECK(self >= 0 && static_cast<uint32_t>(self) < ranks);
  FileHead head = {};
  if (!read_head(file.number(), head) || head.rank_count != ranks || head.self >= 0 ||
      head.file_bytes != os::file_bytes(file.number())) {
    return fail(MPI_ERR_OTHER, "the file that was handed over is not the profile of %u ranks", ranks);
  }
  const uint64_t offset = head.parts_offset + static_cast<uint64_t>(self) * head.part_bytes;
  return map_part(std::move(file), head, offset, self, board);
}

Status Board::create_part(const std::string& folder, uint32_t ranks, int self, const PartFacts& facts,
                          Board& board) {
  FileHead head = plan(ranks, 0, os::page_bytes());
  head.file_bytes = head.parts_offset + head.part_bytes;
  head.self = self;
  head.facts = facts;
  const std::string name = folder + '/' + name_of_part(self);
  os::Descriptor file = os::make_file(name.c_str(), head.file_bytes);
  if (!file.open() || os::write_some(file.number(), &head, sizeof head) != sizeof head) {
    return fail(MPI_ERR_OTHER,
                "cannot write '%s', this rank's part of the profile: %s. Likely cause: HEARTH_PROFILE_FOLDER "
                "names no "
                "folder here, or one that cannot be written. Remedy: make it, on each machine or on a file "
                "system that all share",
                name.c_str(), std::strerror(errno));
  }
  const uint64_t offset = head.parts_offset;
  return map_part(std::move(file), head, offset, self, board);
}

Status Board::map_part(os::Descriptor file, const FileHead& head, uint64_t offset, int self, Board& board) {
  Board made;
  made.head_ = head;
  made.bytes_ = head.part_bytes;
  void* base = os::map_sparse(file.number(), offset, made.bytes_);
  // Reserve memory for everything that is certainly used, so that counting there cannot fail later. With many
  // peers, only a few are contacted.
  const uint64_t used = std::min(comms_at(head), kPeersAt + kPeersReservedBytes);
  if (base == nullptr || !os::reserve_room(file.number(), offset, used) ||
      (head.trace_events > 0 &&
       !os::reserve_room(file.number(), offset + events_at(head), head.trace_events * sizeof(TraceEvent)))) {
    if (base != nullptr) os::release(base, made.bytes_);
    return fail(MPI_ERR_NO_MEM, "no memory for this rank's part of the profile, %llu bytes",
                number(made.bytes_));
  }
  os::set_close_on_exec(file.number(), true);
  made.base_ = static_cast<std::byte*>(base);
  made.part_at_ = offset;
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
          reinterpret_cast<CommCounts*>(at + comms_at(head_)),
          reinterpret_cast<TraceEvent*>(at + events_at(head_)),
          head_.trace_events};
}

bool Board::reserve_comm(int index) const {
  const uint64_t page = head_.page_bytes;
  const uint64_t first = comms_at(head_) + static_cast<uint64_t>(index) * sizeof(CommCounts);
  const uint64_t from = first / page * page;
  return os::reserve_room(file_.number(), part_at_ + from, to_pages(first + sizeof(CommCounts), page) - from);
}

}  // namespace hearth::profile
