// MPI 5.0 section 12.2: windows, their properties, and freeing them. src/rma implements them.
#include <algorithm>
#include <climits>

#include "abi/comm_making.h"
#include "abi/handle.h"
#include "abi/hints.h"
#include "abi/names.h"
#include "abi/runtime.h"
#include "base/attempt.h"
#include "coll/coll.h"
#include "coll/collective_region.h"
#include "datatype/predefined.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "rma/window.h"

namespace hearth::mpi {
namespace {

using objects::Comm;
using objects::Info;
using objects::Win;

/// A window under construction. Discards it on destruction unless it was taken.
class Making {
 public:
  ~Making() {
    if (win_ != nullptr) discard(*win_);
  }

  Status begin(Comm& comm, const Info* info, int flavor) {
    if (comm.is_inter()) {
      return fail(MPI_ERR_COMM, "windows are made for intracommunicators, and this one has two groups");
    }
    abi::OwnedAllocation owned;
    HEARTH_TRY(abi::agree_on_allocation(comm, owned));
    return agree(comm, attempt([&] { return prepare(comm, info, flavor, std::move(owned)); }));
  }

  Status allocate(MPI_Aint bytes, const Info* info) {
    return attempt(
        [&] { return abi::runtime().memory.allocate(static_cast<size_t>(bytes), info, win_->allocated); });
  }
  /// Collective.
  Status allocate_all(MPI_Aint bytes, const Info* info) {
    HEARTH_TRY(agree(*win_->comm, allocate(bytes, info)));
    own.base = win_->allocated;
    return {};
  }
  /// Collective: `all` is true if `own_word` is true on all ranks.
  static Status all_say(Comm& comm, bool own_word, bool& all) {
    const int mine = own_word ? 1 : 0;
    int least = 0;
    HEARTH_TRY(coll::run<coll::allreduce>(comm, &mine, &least, Count{1}, datatype::predefined_type(MPI_INT),
                                          *abi::find<objects::Op>(MPI_MIN)));
    all = least != 0;
    return {};
  }

  /// Opens the window in this process.
  Status open() {
    win_->base = own.base;
    win_->bytes = own.bytes;
    win_->displacement_unit = static_cast<int>(std::clamp<int64_t>(own.displacement_unit, INT_MIN, INT_MAX));
    return win_->window->open(own);
  }

  Win& win() const { return *win_; }
  Win* take() { return std::exchange(win_, nullptr); }

  static unsigned allocation_hints(int flavor) {
    if (flavor == MPI_WIN_FLAVOR_SHARED) return abi::kAllocationHints | abi::kSharedAllocationHints;
    return flavor == MPI_WIN_FLAVOR_ALLOCATE ? abi::kAllocationHints : 0;
  }

  static Status set_hints(Win& win, const Info& info, unsigned scopes) {
    if (win.info == nullptr) win.info = objects::pools.infos.create();
    if (win.info == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for the window's hints");
    abi::keep_hints(info, scopes, *win.info);
    return {};
  }

  static void discard(Win& win) {
    delete win.window;
    abi::MemoryFromMpi& memory = abi::runtime().memory;
    static_cast<void>(memory.free(win.allocated));
    static_cast<void>(memory.free(win.board));
    objects::free_handle(win);
  }

  rma::OwnPart own;

  /// Collective: fails on all ranks if `own_status` is an error on one of them, so that no rank waits for it.
  static Status agree(Comm& comm, Status own_status) {
    bool all_have = false;
    HEARTH_TRY(all_say(comm, own_status.ok(), all_have));
    if (own_status.ok() && !all_have)
      return fail(MPI_ERR_NO_MEM, "another process has no memory for its part of the window");
    return own_status;
  }

 private:
  /// Allocates what does not depend on the window's memory. Local.
  Status prepare(Comm& comm, const Info* info, int flavor, abi::OwnedAllocation owned) {
    win_ = objects::pools.wins.create();
    if (win_ == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another window");
    win_->flavor = flavor;
    win_->model = MPI_WIN_UNIFIED;
    // The initial error handler (MPI 5.0 section 12.6.1).
    win_->errhandler = &abi::predefined_errhandler(MPI_ERRORS_ARE_FATAL);
    objects::retain(*win_->errhandler);
    if (info != nullptr) HEARTH_TRY(set_hints(*win_, *info, abi::kWindowHints | allocation_hints(flavor)));
    objects::retain(*comm.group);
    HEARTH_TRY(abi::make_intracomm(*comm.errhandler, std::move(owned), comm.group, win_->comm));
    win_->comm->of_window = true;
    win_->comm->name = "a window on " + (comm.name.empty()      ? std::string("a communicator without a name")
                                         : comm.predefined != 0 ? comm.name
                                                                : "communicator '" + comm.name + "'");
    HEARTH_TRY(abi::runtime().memory.allocate(sizeof(shm::WindowBoard), nullptr, win_->board));
    own.board = new (win_->board) shm::WindowBoard{};
    win_->window = new rma::Window(*win_->comm);
    // Made by the first collective otherwise, which the other ranks would complete or wait in.
    static_cast<void>(coll::CollectiveRegion::of(*win_->comm));
    return {};
  }

  Win* win_ = nullptr;
};

Status check_unit(MPI_Aint unit) {
  if (unit > 0) return {};
  return fail(MPI_ERR_DISP, "disp_unit is %lld: it must be positive", static_cast<long long>(unit));
}

bool is_true(const Info* info, std::string_view key) {
  if (info == nullptr) return false;
  return std::ranges::any_of(
      info->entries, [key](const auto& entry) { return entry.first == key && entry.second == "true"; });
}

datatype::Type& byte_type() {
  return datatype::predefined_type(MPI_BYTE);
}

/// Allocates one block of rank 0's arena slice and divides it among the ranks.
Status share_one_piece(Making& making, MPI_Aint size, const Info* info) {
  constexpr uint64_t kNone = ~uint64_t{0};
  Comm& comm = *making.win().comm;
  std::vector<int64_t> sizes;
  HEARTH_TRY(
      Making::agree(comm, attempt([&] { return sizes.resize(static_cast<size_t>(comm.size)), Status(); })));
  const int64_t own_size = size;
  HEARTH_TRY(coll::run<coll::allgather>(comm, &own_size, Count{sizeof own_size}, byte_type(), sizes.data(),
                                        Count{sizeof own_size}, byte_type()));
  shm::Arena& arena = abi::runtime().job.arena;
  uint64_t offset = kNone;
  Status allocated;
  if (comm.rank == 0) {
    int64_t all = 0;
    bool fits = true;
    for (const int64_t each : sizes) fits = fits && !__builtin_add_overflow(all, each, &all);
    allocated = fits ? making.allocate(all, info) : fail(MPI_ERR_SIZE, "the parts have more than 2^63 bytes");
    if (allocated.ok() && arena.usable() && arena.holds(making.win().allocated, static_cast<size_t>(all)))
      offset = arena.offset_of(making.win().allocated);
  }
  HEARTH_TRY(coll::run<coll::bcast>(comm, &offset, Count{sizeof offset}, byte_type(), 0));
  HEARTH_TRY(allocated);
  if (offset == kNone) {
    return fail(MPI_ERR_RMA_SHARED, "rank 0 has no memory that the others reach: %s",
                arena.usable() ? "its share of the arena is used up" : arena.reason().c_str());
  }
  making.own.owner = 0;
  making.own.owner_offset = offset;
  for (int rank = 0; rank < comm.rank; ++rank)
    making.own.owner_offset += static_cast<uint64_t>(sizes[static_cast<size_t>(rank)]);
  making.own.base = rma::Window::reach(comm.peers[0], making.own.owner_offset, static_cast<size_t>(size));
  return {};
}

}  // namespace

Status win_create(void* base, MPI_Aint size, MPI_Aint disp_unit, Info* info, Comm& comm, Win*& win) {
  HEARTH_TRY(check_unit(disp_unit));
  Making making;
  HEARTH_TRY(making.begin(comm, info, MPI_WIN_FLAVOR_CREATE));
  making.own.base = base;
  making.own.bytes = size;
  making.own.displacement_unit = disp_unit;
  HEARTH_TRY(making.open());
  win = making.take();
  return {};
}

Status win_allocate(MPI_Aint size, MPI_Aint disp_unit, Info* info, Comm& comm, void* baseptr, Win*& win) {
  HEARTH_TRY(check_unit(disp_unit));
  Making making;
  HEARTH_TRY(making.begin(comm, info, MPI_WIN_FLAVOR_ALLOCATE));
  HEARTH_TRY(making.allocate_all(size, info));
  making.own.bytes = size;
  making.own.displacement_unit = disp_unit;
  HEARTH_TRY(making.open());
  *static_cast<void**>(baseptr) = making.own.base;
  win = making.take();
  return {};
}

Status win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, Info* info, Comm& comm, void* baseptr,
                           Win*& win) {
  HEARTH_TRY(check_unit(disp_unit));
  if (!abi::on_one_machine(comm.group->peers)) {
    return fail(MPI_ERR_RMA_SHARED,
                "the processes are on several machines, which share no memory. Remedy: MPI_Comm_split_type "
                "with MPI_COMM_TYPE_SHARED, and a window for each part");
  }
  Making making;
  HEARTH_TRY(making.begin(comm, info, MPI_WIN_FLAVOR_SHARED));
  making.own.bytes = size;
  making.own.displacement_unit = disp_unit;
  if (is_true(info, "alloc_shared_noncontig")) {
    HEARTH_TRY(making.allocate_all(size, info));
  } else {
    HEARTH_TRY(share_one_piece(making, size, info));
  }
  HEARTH_TRY(making.open());
  bool all_reach = false;
  HEARTH_TRY(making.all_say(*making.win().comm, making.win().window->reaches_all(), all_reach));
  if (!all_reach) {
    HEARTH_TRY(making.win().window->close());
    return fail(MPI_ERR_RMA_SHARED, "the processes do not all reach each other's memory: %s",
                abi::runtime().job.arena.usable() ? "the arena is used up, or cannot be mapped"
                                                  : abi::runtime().job.arena.reason().c_str());
  }
  *static_cast<void**>(baseptr) = making.own.base;
  win = making.take();
  return {};
}

Status win_create_dynamic(Info* info, Comm& comm, Win*& win) {
  Making making;
  HEARTH_TRY(making.begin(comm, info, MPI_WIN_FLAVOR_DYNAMIC));
  making.own.dynamic = true;
  HEARTH_TRY(making.open());
  win = making.take();
  return {};
}

Status win_attach(Win& win, void* base, MPI_Aint size) {
  return win.window->attach(base, size);
}

Status win_detach(Win& win, const void* base) {
  return win.window->detach(base);
}

Status win_shared_query(Win& win, int rank, MPI_Aint& size, MPI_Aint& disp_unit, void* baseptr) {
  const rma::Window& window = *win.window;
  if (win.flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    return fail(MPI_ERR_RMA_FLAVOR,
                "a window from MPI_Win_create_dynamic has no memory of its own to ask for");
  }
  if (rank == MPI_PROC_NULL) {
    // The first rank that has memory.
    rank = 0;
    while (rank < win.comm->size - 1 && window.part_bytes(rank) == 0) ++rank;
  } else if (rank < 0 || rank >= win.comm->size) {
    return fail(MPI_ERR_RANK,
                "rank is %d, but the ranks of this window are 0 to %d; MPI_PROC_NULL is allowed as well",
                rank, win.comm->size - 1);
  }
  void* const here = window.part_bytes(rank) > 0 ? window.part_here(rank) : nullptr;
  *static_cast<void**>(baseptr) = here;
  size = here != nullptr ? static_cast<MPI_Aint>(window.part_bytes(rank)) : 0;
  disp_unit = static_cast<MPI_Aint>(window.displacement_unit(rank));
  return {};
}

Status win_free(Win*& win) {
  HEARTH_TRY(win->window->check_ended());
  HEARTH_TRY(objects::delete_attributes(objects::holder_of(*win)));
  const Status closed = win->window->close();
  Making::discard(*win);
  win = nullptr;
  return closed;
}

Status win_get_group(Win& win, objects::Group*& group) {
  return abi::make_group(win.comm->group->peers, win.comm->group->session, group);
}

Status win_get_name(Win& win, char* win_name, int& resultlen) {
  abi::get_name(win.name, win_name, resultlen);
  return {};
}

Status win_set_name(Win& win, const char* win_name) {
  abi::set_name(win.name, win_name);
  if (!win.name.empty()) win.comm->name = "window '" + win.name + "'";
  return {};
}

// Hints are stored and have no effect. MPI_Win_set_info ignores the hints of the allocation.

Status win_set_info(Win& win, Info* info) {
  return info == nullptr ? Status() : Making::set_hints(win, *info, abi::kWindowHints);
}

Status win_get_info(Win& win, Info*& info_used) {
  info_used = objects::pools.infos.create();
  if (info_used == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another info object");
  abi::list_hints(win.info, abi::kWindowHints | Making::allocation_hints(win.flavor), *info_used);
  return {};
}

}  // namespace hearth::mpi
