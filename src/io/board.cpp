#include "io/board.h"

#include <cstring>
#include <new>

#include "base/atomic.h"
#include "base/attempt.h"
#include "base/chaos.h"
#include "base/os_file.h"
#include "base/os_wait.h"
#include "coll/coll.h"
#include "datatype/predefined.h"
#include "io/agreement.h"
#include "io/errors.h"
#include "io/system_call.h"
#include "mpi.h"
#include "objects/pools.h"
#include "p2p/engine.h"
#include "p2p/wait_diagnostics.h"
#include "shm/node.h"
#include "shm/wait.h"

namespace hearth::io {
namespace {

Surroundings the_surroundings;

constexpr uint64_t kNowhere = ~uint64_t{0};
constexpr uint64_t kNoMemory = ~uint64_t{0} - 1;

objects::Op& operation(MPI_Op handle) {
  return *static_cast<objects::Op*>(objects::pools.predefined[reinterpret_cast<uintptr_t>(handle)]);
}

}  // namespace

void set_up(const Surroundings& surroundings) {
  the_surroundings = surroundings;
}

const Surroundings& surroundings() {
  return the_surroundings;
}

/// The lock of the table, held for a few stores. It stores its owner; if the owner died, the next process
/// takes over. The owner of an entry is stored last and makes the entry valid, so no process sees an
/// incomplete one.
class Board::TableLock {
 public:
  explicit TableLock(uint32_t& word) : word_(word) {
    const uint32_t self = static_cast<uint32_t>(p2p::engine().self()) + 1;
    // Pairs with the release in the destructor, also of an owner that died.
    for (int tries = 1; !atomic::compare_exchange(word_, uint32_t{0}, self); ++tries) {
      constexpr int kTriesPerSample = 64;
      atomic::cpu_relax();
      if (tries % kTriesPerSample != 0) continue;
      os::yield_processor();
      p2p::Engine& engine = p2p::engine();
      engine.failure_handler().poll();
      const uint32_t holder = atomic::load_relaxed(word_);
      if (holder == 0 || holder > static_cast<uint32_t>(engine.processes().count())) continue;
      if (!engine.failures().is_dead(static_cast<objects::PeerIndex>(holder - 1))) continue;
      if (atomic::compare_exchange(word_, holder, self)) return;
    }
  }
  ~TableLock() { atomic::store_release(word_, uint32_t{0}); }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  uint32_t& word_;
};

Board::~Board() {
  if (own_ != nullptr) the_surroundings.release(own_);
}

Status Board::open(Comm& comm, bool local) {
  comm_ = &comm;
  datatype::Type& byte = datatype::predefined_type(MPI_BYTE);
  uint64_t offset = kNowhere;
  if (comm.rank == 0) {
    // Without an arena this memory becomes the board of the window: open_window().
    static_assert(sizeof(shm::FileBoard) >= sizeof(shm::WindowBoard));
    const KeptFailure allocated(
        attempt([&] { return the_surroundings.allocate(sizeof(shm::FileBoard), own_); }));
    if (own_ == nullptr) {
      // The other ranks wait for the offset.
      offset = kNoMemory;
      if (comm.size > 1)
        static_cast<void>(coll::run<coll::bcast>(comm, &offset, Count{sizeof offset}, byte, 0));
      return allocated.again();
    }
    std::memset(own_, 0, sizeof(shm::FileBoard));
    const shm::Arena* arena = shm::node().arena();
    if (local && arena != nullptr && arena->holds(own_, sizeof(shm::FileBoard)))
      offset = arena->offset_of(own_);
    if (comm.size == 1) board_ = static_cast<shm::FileBoard*>(own_);
  }
  if (comm.size == 1) return {};
  HEARTH_TRY(coll::run<coll::bcast>(comm, &offset, Count{sizeof offset}, byte, 0));
  if (offset == kNoMemory) return fail(MPI_ERR_NO_MEM, "rank 0 has no memory for the state of the file");
  int64_t reached = 0;
  if (offset != kNowhere) {
    board_ = comm.rank == 0 ? static_cast<shm::FileBoard*>(own_)
                            : reinterpret_cast<shm::FileBoard*>(
                                  rma::Window::reach(comm.peers[0], offset, sizeof(shm::FileBoard)));
    reached = board_ != nullptr ? 1 : 0;
  }
  int64_t greatest = reached;
  HEARTH_TRY(min_and_max(comm, reached, greatest));
  if (reached != 0) return {};
  board_ = nullptr;
  return open_window();
}

/// All processes make the window or none, so that no process waits in it.
Status Board::open_window() {
  const auto allocate = [&] {
    if (own_ == nullptr) HEARTH_TRY(the_surroundings.allocate(sizeof(shm::WindowBoard), own_));
    threads_ = std::make_unique<shm::FileBoard>();
    window_ = std::make_unique<rma::Window>(*comm_);
    return Status();
  };
  HEARTH_TRY(agree(*comm_, attempt(allocate)));
  rma::OwnPart part;
  part.board = new (own_) shm::WindowBoard{};
  part.base = &pointer_;
  part.bytes = comm_->rank == 0 ? static_cast<int64_t>(sizeof pointer_) : 0;
  HEARTH_TRY(window_->open(part));
  return window_->lock_all(MPI_MODE_NOCHECK);
}

Status Board::close() {
  if (window_ == nullptr) return {};
  const Status unlocked = window_->unlock_all();
  const Status closed = window_->close();
  window_.reset();
  return unlocked.ok() ? closed : unlocked;
}

Status Board::fetch_add(int64_t etypes, int64_t& before) {
  if (board_ != nullptr) {
    before = atomic::fetch_add(board_->shared_pointer, etypes);
    return {};
  }
  datatype::Type& word = datatype::predefined_type(MPI_INT64_T);
  const rma::Data result = {&before, 1, &word};
  HEARTH_TRY(
      window_->accumulate({&etypes, 1, &word}, {0, 0, 1, &word}, operation(MPI_SUM), &result, nullptr));
  return window_->flush(0);
}

Status Board::read(int64_t& etypes) {
  return fetch_add(0, etypes);
}

Status Board::write(int64_t etypes) {
  if (board_ != nullptr) {
    atomic::store_release(board_->shared_pointer, etypes);
    return {};
  }
  int64_t before = 0;
  HEARTH_TRY(fetch_add(0, before));
  return fetch_add(etypes - before, before);
}

void Board::wake_all() const {
  const shm::Node& node = shm::node();
  for (int rank = 0; rank < comm_->size; ++rank) {
    const objects::PeerIndex peer = comm_->peers[rank];
    if (node.has(peer)) shm::WakeWord(node.segment(), node.local_rank_of(peer)).wake();
  }
}

bool Board::try_range(const shm::FileRange& wanted) {
  p2p::Engine& engine = p2p::engine();
  const TableLock lock(table().lock);
  shm::FileRange* room = nullptr;
  for (shm::FileRange& range : table().ranges) {
    // Pairs with the stores of the owner below and in release_range().
    uint32_t owner = atomic::load_acquire(range.owner);
    if (owner != 0 && engine.failures().is_dead(static_cast<objects::PeerIndex>(owner - 1))) {
      owner = 0;
      atomic::store_relaxed(range.owner, owner);
    }
    if (owner == 0) {
      room = &range;
    } else if (range.begin < wanted.end && wanted.begin < range.end &&
               (range.exclusive | wanted.exclusive) != 0) {
      return false;
    }
  }
  if (room == nullptr) return false;
  room->begin = wanted.begin;
  room->end = wanted.end;
  room->exclusive = wanted.exclusive;
  // The owner is stored last: if this process dies before, the entry is still free.
  atomic::store_release(room->owner, wanted.owner);
  return true;
}

void Board::wait_for_range(const shm::FileRange& wanted) {
  if (try_range(wanted)) return;
  p2p::Engine& engine = p2p::engine();
  bool got = false;
  atomic::fetch_add(table().waiting, 1u);
  // The number of waiters is visible before this process tries again. release_range() has the reverse order.
  atomic::fence_full();
  engine.wait_until(
      [&] {
        engine.failure_handler().poll();  // so that the range of a dead process becomes free
        return got = got || try_range(wanted);
      },
      [this](p2p::WaitDiagnostics& note) { note.collective(comm_->context, "atomic file access"); });
  atomic::fetch_add(table().waiting, ~0u);
}

void Board::release_range(int64_t begin, int64_t end) {
  const uint32_t self = static_cast<uint32_t>(p2p::engine().self()) + 1;
  for (shm::FileRange& range : table().ranges) {
    // Only this process changes an entry that it owns, so it needs no lock of the table.
    if (atomic::load_relaxed(range.owner) != self || range.begin != begin || range.end != end) continue;
    // Pairs with the load in try_range(), under the table's lock.
    atomic::store_release(range.owner, uint32_t{0});
    break;
  }
  atomic::fence_full();
  if (atomic::load_relaxed(table().waiting) != 0) wake_all();
}

Status Board::lock_range(int descriptor, int64_t begin, int64_t end, bool exclusive) {
  const bool by_system = board_ == nullptr;
  // File-system locks of two threads of one process merge, and the first unlock releases both. So ranges are
  // exclusive between threads.
  wait_for_range(
      {begin, end, static_cast<uint32_t>(p2p::engine().self()) + 1, exclusive || by_system ? 1u : 0u});
  if (by_system) {
    int error;
    {
      const ShownCall shown(*comm_, "lock a range");
      const Unlocked unlocked;
      error = os::lock_file_range(descriptor, begin, end, exclusive);
    }
    if (error != 0) {
      release_range(begin, end);
      return fail_for(error, "lock a range of", "the file");
    }
  }
  chaos::at(chaos::Point::file_range_taken);
  return {};
}

void Board::unlock_range(int descriptor, int64_t begin, int64_t end) {
  if (board_ == nullptr) os::unlock_file_range(descriptor, begin, end);
  release_range(begin, end);
}

}  // namespace hearth::io
