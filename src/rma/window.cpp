#include "rma/window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "coll/coll.h"
#include "datatype/predefined.h"
#include "mpi.h"
#include "objects/pools.h"
#include "shm/node.h"
#include "shm/wait.h"

namespace hearth::rma {
namespace {

/// Local rank of a process whose memory this one may access; negative otherwise.
int local_rank_of(PeerIndex peer) {
  return shm::node().shares_memory_with(peer) ? shm::node().local_rank_of(peer) : -1;
}

/// Attached regions are sorted by address; an empty region precedes one that begins at the same address.
std::pair<int64_t, int64_t> order_of(const datatype::Block& region) {
  return {region.offset, region.bytes};
}

}  // namespace

std::byte* Window::reach(PeerIndex peer, uint64_t offset, size_t bytes) {
  const int place = local_rank_of(peer);
  shm::Arena* arena = shm::node().arena();
  return place < 0 || arena == nullptr ? nullptr : arena->memory_of(place, offset, bytes);
}

void Window::wake_all() const {
  for (int rank = 0; rank < comm_.size; ++rank) {
    if (const int place = local_rank_of(peer(rank)); place >= 0) {
      shm::WakeWord(shm::node().segment(), place).wake();
    }
  }
}

Window::Window(Comm& comm)
    : comm_(comm),
      parts_(static_cast<size_t>(comm.size)),
      access_(static_cast<size_t>(comm.size)),
      messages_(*this) {}

Window::~Window() = default;

Window::Part Window::own_part() {
  Part part = {};
  part.board = kNowhere;
  part.offset = kNowhere;
  part.owner = comm_.rank;
  if (shm::Arena* arena = shm::node().arena(); arena != nullptr) {
    shared_ = own_.dynamic ? arena->expose_heap() : arena->expose(own_.base, static_cast<size_t>(own_.bytes));
    if (shared_ && !own_.dynamic) part.offset = shared_.offset();
    if (arena->holds(own_.board, sizeof *own_.board)) part.board = arena->offset_of(own_.board);
    part.arena_begins = reinterpret_cast<uintptr_t>(arena->begin_of(shm::Arena::Half::blocks));
    part.arena_ends = part.arena_begins + arena->reachable_end();
  }
  if (own_.owner >= 0) {
    part.owner = own_.owner;
    part.offset = own_.owner_offset;
  }
  part.base = reinterpret_cast<uintptr_t>(own_.base);
  part.bytes = own_.bytes;
  part.displacement_unit = own_.displacement_unit;
  return part;
}

void Window::monitor_members() {
  for (size_t rank = 0; rank < parts_.size(); ++rank) {
    const Part& part = parts_[rank];
    Access& access = access_[rank];
    access.bytes = part.bytes;
    access.displacement_unit = part.displacement_unit;
    const PeerIndex owner = peer(static_cast<int>(part.owner));
    if (part.board != kNowhere) {
      access.board = reinterpret_cast<shm::WindowBoard*>(
          reach(peer(static_cast<int>(rank)), part.board, sizeof(shm::WindowBoard)));
    }
    if (part.offset != kNowhere) access.memory = reach(owner, part.offset, static_cast<size_t>(part.bytes));
  }
  Access& own = access_[static_cast<size_t>(comm_.rank)];
  own.board = own_.board;
  if (!own_.dynamic) own.memory = static_cast<std::byte*>(own_.base);
}

// All processes agree whether any of them needs messages. Only then do they poll for requests, because this
// makes each poll slower.
Status Window::agree_on_ways() {
  const auto needs = [this](size_t rank) {
    const bool has_data = own_.dynamic || parts_[rank].bytes > 0;
    return access_[rank].board == nullptr || (has_data && access_[rank].memory == nullptr);
  };
  int mine = 0;
  for (size_t rank = 0; rank < parts_.size(); ++rank) mine |= needs(rank) ? 1 : 0;
  int all = 0;
  HEARTH_TRY(coll::run<coll::allreduce>(
      comm_, &mine, &all, Count{1}, datatype::predefined_type(MPI_INT),
      *static_cast<objects::Op*>(objects::pools.predefined[reinterpret_cast<uintptr_t>(MPI_MAX)])));
  by_messages_ = all != 0;
  if (!by_messages_) return {};
  messages_.start_service();
  p2p::engine().requests().poll(*this);
  return {};
}

Status Window::open(const OwnPart& own) {
  own_ = own;
  const Part part = own_part();
  Type& byte = datatype::predefined_type(MPI_BYTE);
  HEARTH_TRY(coll::run<coll::allgather>(comm_, &part, Count{sizeof part}, byte, parts_.data(),
                                        Count{sizeof part}, byte));
  monitor_members();
  return agree_on_ways();
}

bool Window::reaches_all() const {
  for (size_t rank = 0; rank < parts_.size(); ++rank) {
    if (parts_[rank].bytes > 0 && access_[rank].memory == nullptr) return false;
  }
  return true;
}

Status Window::close() {
  const Status flushed = flush_all();
  const Status met = coll::run<coll::barrier>(comm_);
  p2p::Engine& engine = p2p::engine();
  engine.wait_until([this] { return notices_.under_way == 0; }, [](p2p::WaitDiagnostics&) {});
  closed_ = true;
  // advance() returns true now, which removes the window from the polled objects.
  if (by_messages_) engine.progress();
  messages_.close();
  return flushed.ok() ? met : flushed;
}

bool Window::advance() {
  if (!closed_) messages_.advance();
  return closed_;
}

// Memory of dynamic windows.

Status Window::attach(void* base, int64_t bytes) {
  if (!own_.dynamic) {
    return fail(MPI_ERR_RMA_FLAVOR,
                "memory can be attached to windows from MPI_Win_create_dynamic only: this one is of another "
                "flavor");
  }
  const auto begin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(base));
  for (const datatype::Block& other : attached_) {
    if (begin < other.offset + other.bytes && other.offset < begin + bytes) {
      return fail(MPI_ERR_RMA_ATTACH,
                  "%p and the %lld bytes behind it overlap memory that is attached to the window already",
                  base, static_cast<long long>(bytes));
    }
  }
  attached_.insert(std::ranges::lower_bound(attached_, std::pair(begin, bytes), {}, order_of),
                   {begin, bytes});
  return {};
}

Status Window::detach(const void* base) {
  if (!own_.dynamic) {
    return fail(
        MPI_ERR_RMA_FLAVOR,
        "memory can be detached from windows from MPI_Win_create_dynamic only: this one is of another "
        "flavor");
  }
  const auto begin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(base));
  const auto place = std::ranges::find_if(
      attached_, [begin](const datatype::Block& block) { return block.offset == begin; });
  if (place == attached_.end()) {
    return fail(MPI_ERR_RMA_ATTACH, "no memory that begins at %p is attached to the window", base);
  }
  attached_.erase(place);
  return {};
}

bool Window::is_attached(uint64_t address, int64_t bytes) const {
  auto begin = static_cast<int64_t>(address);
  auto region = std::ranges::upper_bound(attached_, begin, {}, &datatype::Block::offset);
  if (region == attached_.begin()) return false;
  // Regions do not overlap. Check the last region that begins at or before `begin`, then the regions that
  // follow it without a gap.
  for (--region; region != attached_.end() && region->offset <= begin; ++region) {
    const int64_t covered = region->offset + region->bytes - begin;
    if (covered < 0) return false;
    if (bytes <= covered) return true;
    begin += covered;
    bytes -= covered;
  }
  return false;
}

bool Window::is_own(uint64_t address, int64_t bytes) const {
  if (own_.dynamic) return is_attached(address, bytes);
  const uint64_t offset = address - reinterpret_cast<uintptr_t>(own_.base);
  return offset <= static_cast<uint64_t>(own_.bytes) &&
         static_cast<uint64_t>(bytes) <= static_cast<uint64_t>(own_.bytes) - offset;
}

}  // namespace hearth::rma
