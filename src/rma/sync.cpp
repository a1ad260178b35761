// Epochs: fences, post-start-complete-wait, locks and flushes (MPI 5.0 section 12.5).
#include <algorithm>
#include <utility>

#include "coll/coll.h"
#include "datatype/predefined.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "p2p/wait_diagnostics.h"
#include "rma/part_lock.h"
#include "rma/window.h"

namespace hearth::rma {
namespace {

Status check_assertions(int given, int allowed, const char* names) {
  if ((given & ~allowed) == 0) return {};
  return fail(MPI_ERR_ASSERT, "assert is %d: this call takes %s", given, names);
}

}  // namespace

Status Window::check_rank(int rank) const {
  if (rank >= 0 && rank < comm_.size) return {};
  return fail(MPI_ERR_RANK, "rank is %d, but the ranks of this window are 0 to %d", rank, comm_.size - 1);
}

/// Fails if an epoch is open other than that of a fence.
Status Window::check_quiet(const char* before) const {
  const char* open = started_      ? "MPI_Win_start has no MPI_Win_complete yet"
                     : posted_     ? "MPI_Win_post has no MPI_Win_wait or successful MPI_Win_test yet"
                     : all_locked_ ? "MPI_Win_lock_all has no MPI_Win_unlock_all yet"
                     : locks_ > 0  ? "MPI_Win_lock has no MPI_Win_unlock yet"
                                   : nullptr;
  if (open == nullptr) return {};
  return fail(MPI_ERR_RMA_SYNC, "an epoch has not ended: %s. Remedy: end it before %s", open, before);
}

// Pending operations.

// Serves requests of other processes, so that a process which synchronizes repeatedly without waiting serves
// them too.
void Window::answer_others() const {
  if (by_messages_) p2p::engine().progress_once();
}

Status Window::await_replies(int rank) {
  return await_replies(rank, [this, rank](p2p::WaitDiagnostics& note) {
    if (const p2p::Request* request = messages_.awaited(rank))
      note.progress(comm_.context, request->key.peer);
  });
}

Status Window::await_replies(int rank, const p2p::Describe& describe) {
  answer_others();
  const auto left = [this, rank] { return rank < 0 ? messages_.pending() : messages_.pending(rank); };
  p2p::engine().wait_until([&left] { return left() == 0; }, describe);
  return messages_.take_deferred_error();
}

Status Window::flush(int rank) {
  HEARTH_TRY(check_rank(rank));
  if (access_[static_cast<size_t>(rank)].held == Held::no && !all_locked_) {
    return fail(MPI_ERR_RMA_SYNC,
                "the part of rank %d is not locked by this process. Remedy: MPI_Win_lock or MPI_Win_lock_all "
                "first; other epochs are ended, not flushed",
                rank);
  }
  // Stores of this process are visible to all processes before its later loads.
  atomic::fence_full();
  return await_replies(rank);
}

Status Window::flush_all_locked() {
  if (!all_locked_ && locks_ == 0) {
    return fail(MPI_ERR_RMA_SYNC,
                "this process has nothing of the window locked. Remedy: MPI_Win_lock or MPI_Win_lock_all "
                "first; other epochs are ended, not flushed");
  }
  return flush_all();
}

Status Window::flush_all() {
  atomic::fence_full();
  return await_replies(-1);
}

Status Window::sync() {
  answer_others();
  atomic::fence_full();
  return {};
}

// Fences.

Status Window::fence(int assertions) {
  HEARTH_TRY(check_assertions(assertions,
                              MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
                              "MPI_MODE_NOSTORE, NOPUT, NOPRECEDE and NOSUCCEED"));
  HEARTH_TRY(check_quiet("MPI_Win_fence"));
  const Status flushed = flush_all();
  // Each process has the replies of its own operations, so after the barrier none is left to perform.
  const Status met = coll::run<coll::barrier>(comm_);
  fence_open_ = (assertions & MPI_MODE_NOSUCCEED) == 0;
  return flushed.ok() ? met : flushed;
}

// Post, start, complete, wait: messages without data.

Status Window::await_all(std::vector<p2p::Request*>& requests, std::string_view call) {
  const auto describe = [&](p2p::WaitDiagnostics& note) {
    for (const p2p::Request* request : requests) {
      if (request != nullptr && !request->complete) note.call(comm_.context, request->key.peer, call);
    }
  };
  Status first;
  for (p2p::Request*& request : requests) {
    p2p::engine().await(*request, describe);
    if (first.ok()) first = request->outcome;
    p2p::engine().requests().destroy(std::exchange(request, nullptr));
  }
  requests.clear();
  return first;
}

Status Window::notify_all(std::span<const PeerIndex> peers, int tag) {
  Status first;
  for (const PeerIndex peer : peers) {
    p2p::Request* request = nullptr;
    const Status status = p2p::engine().isend(nullptr, 0, datatype::predefined_type(MPI_BYTE), peer, tag,
                                              comm_.context, request);
    if (first.ok()) first = status;
    if (status.ok()) p2p::engine().requests().entrust(request, notices_);
  }
  return first;
}

Status Window::listen_to_all(std::span<const PeerIndex> peers, int tag,
                             std::vector<p2p::Request*>& requests) {
  requests.reserve(requests.size() + peers.size());  // before the first receive: none may be lost
  for (const PeerIndex peer : peers) {
    p2p::Request* request = nullptr;
    HEARTH_TRY(p2p::engine().ireceive(nullptr, 0, datatype::predefined_type(MPI_BYTE), peer, tag,
                                      comm_.context, request));
    requests.push_back(request);
  }
  return {};
}

namespace {

Status check_members(const objects::Group& group, const Comm& comm) {
  for (const PeerIndex peer : group.peers) {
    if (comm.rank_of(peer) != MPI_UNDEFINED) continue;
    return fail(MPI_ERR_GROUP, "the group has rank %d of MPI_COMM_WORLD, which is not in the window", peer);
  }
  return {};
}

}  // namespace

Status Window::post(const objects::Group& group, int assertions) {
  HEARTH_TRY(check_assertions(assertions, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                              "MPI_MODE_NOCHECK, NOSTORE and NOPUT"));
  if (posted_ || all_locked_ || locks_ > 0) HEARTH_TRY(check_quiet("MPI_Win_post"));
  HEARTH_TRY(check_members(group, comm_));
  fence_open_ = false;
  atomic::fence_release();
  const Status listening = listen_to_all(group.peers, kCompleteTag, exposure_);
  if (!listening.ok()) {
    for (p2p::Request* request : exposure_) {
      p2p::engine().cancel(*request);
      p2p::engine().requests().release(request);
    }
    exposure_.clear();
    return listening;
  }
  posted_ = true;
  return (assertions & MPI_MODE_NOCHECK) != 0 ? Status() : notify_all(group.peers, kPostTag);
}

Status Window::start(const objects::Group& group, int assertions) {
  HEARTH_TRY(check_assertions(assertions, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  if (started_ || all_locked_ || locks_ > 0) HEARTH_TRY(check_quiet("MPI_Win_start"));
  HEARTH_TRY(check_members(group, comm_));
  std::vector<PeerIndex> peers = group.peers;  // before the first message
  if ((assertions & MPI_MODE_NOCHECK) == 0) {
    std::vector<p2p::Request*> posts;
    const Status posted = listen_to_all(group.peers, kPostTag, posts);
    const Status come = await_all(posts, "MPI_Win_post");
    HEARTH_TRY(posted.ok() ? come : posted);
  }
  fence_open_ = false;
  started_ = true;
  started_for_ = std::move(peers);
  for (const PeerIndex peer : started_for_) access_[static_cast<size_t>(comm_.rank_of(peer))].started = true;
  return {};
}

Status Window::complete() {
  if (!started_) return fail(MPI_ERR_RMA_SYNC, "MPI_Win_start was not called before");
  const Status flushed = flush_all();
  started_ = false;
  for (Access& access : access_) access.started = false;
  const Status notified = notify_all(started_for_, kCompleteTag);
  return flushed.ok() ? notified : flushed;
}

void Window::end_exposure() {
  posted_ = false;
  atomic::fence_acquire();
}

Status Window::wait() {
  if (!posted_) return fail(MPI_ERR_RMA_SYNC, "MPI_Win_post was not called before");
  const Status status = await_all(exposure_, "MPI_Win_complete");
  end_exposure();
  return status;
}

Status Window::test(bool& over) {
  if (!posted_) return fail(MPI_ERR_RMA_SYNC, "MPI_Win_post was not called before");
  p2p::engine().progress_once();
  over = std::ranges::all_of(exposure_, [](const p2p::Request* request) { return request->complete; });
  return over ? wait() : Status();
}

// Locks.

void Window::describe_lock_wait(int rank, p2p::WaitDiagnostics& note) const {
  shm::WindowBoard* const board = board_of(rank);
  const PartLock::Holders holders = board == nullptr ? PartLock::Holders() : PartLock(*board).holders();
  note.lock(comm_.context, peer(rank), holders.count);
  if (holders.exclusive >= 0) return note.missing(holders.exclusive);
  for (int other = 0; other < comm_.size && holders.count > 0; ++other) {
    shm::WindowBoard* const shown = board_of(other);
    if (shown != nullptr && SharedHolds(*shown).has(rank)) note.missing(peer(other));
  }
}

Status Window::acquire(int rank, bool exclusive) {
  HEARTH_TRY(await_lock(rank, exclusive));
  if (!exclusive) SharedHolds(*own_.board).set(rank, true);
  return {};
}

Status Window::await_lock(int rank, bool exclusive) {
  shm::WindowBoard* const board = board_of(rank);
  // A dead member may hold the lock, and its share of the count of holders is unknown. So the lock cannot be
  // acquired any more after a death.
  const std::span<const PeerIndex> members(comm_.peers, static_cast<size_t>(comm_.size));
  if (board == nullptr) {
    HEARTH_TRY(messages_.ask({.wanted = Wanted::lock, .target = rank, .exclusive = exclusive}, {}, nullptr));
    const Status status =
        await_replies(rank, [this, rank](p2p::WaitDiagnostics& note) { describe_lock_wait(rank, note); });
    if (status.error_class() != MPIX_ERR_PROC_FAILED || p2p::engine().failures().is_dead(peer(rank)))
      return status;
    // The target may have detected the death before this process.
    p2p::engine().wait_until([&] { return p2p::engine().failures().has_dead(members); },
                             [this, rank](p2p::WaitDiagnostics& note) { describe_lock_wait(rank, note); });
    return p2p::engine().failures().death_among(members);
  }
  answer_others();
  PartLock lock(*board);
  const PeerIndex self = p2p::engine().self();
  if (lock.try_lock(exclusive, self)) return {};
  bool locked = false;
  lock.begin_wait();
  p2p::engine().wait_until(
      [&] {
        locked = locked || lock.try_lock(exclusive, self);
        return locked || p2p::engine().failures().has_dead(members);
      },
      [this, rank](p2p::WaitDiagnostics& note) { describe_lock_wait(rank, note); });
  lock.end_wait();
  return locked ? Status() : p2p::engine().failures().death_among(members);
}

Status Window::release(int rank, bool exclusive) {
  if (!exclusive) SharedHolds(*own_.board).set(rank, false);
  shm::WindowBoard* const board = board_of(rank);
  if (board == nullptr) {
    HEARTH_TRY(
        messages_.ask({.wanted = Wanted::unlock, .target = rank, .exclusive = exclusive}, {}, nullptr));
    return await_replies(rank);
  }
  if (PartLock(*board).unlock(exclusive)) wake_all();
  return {};
}

Status Window::lock(int lock_type, int rank, int assertions) {
  HEARTH_TRY(check_assertions(assertions, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE) {
    return fail(MPI_ERR_LOCKTYPE, "lock_type is %d: neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE",
                lock_type);
  }
  HEARTH_TRY(check_rank(rank));
  if (started_ || posted_ || all_locked_) HEARTH_TRY(check_quiet("MPI_Win_lock"));
  Held& held = access_[static_cast<size_t>(rank)].held;
  if (held != Held::no) {
    return fail(MPI_ERR_RMA_SYNC, "the part of rank %d is locked by this process already", rank);
  }
  const bool exclusive = lock_type == MPI_LOCK_EXCLUSIVE;
  const bool checked = (assertions & MPI_MODE_NOCHECK) == 0;
  if (checked) HEARTH_TRY(acquire(rank, exclusive));
  held = !checked ? Held::unchecked : exclusive ? Held::exclusive : Held::shared;
  fence_open_ = false;
  ++locks_;
  return {};
}

Status Window::unlock(int rank) {
  HEARTH_TRY(check_rank(rank));
  Held& held = access_[static_cast<size_t>(rank)].held;
  if (held == Held::no || all_locked_) {
    return fail(MPI_ERR_RMA_SYNC, "the part of rank %d is not locked by MPI_Win_lock of this process", rank);
  }
  const Status flushed = flush(rank);
  const Held ended = std::exchange(held, Held::no);
  --locks_;
  const Status released = ended == Held::unchecked ? Status() : release(rank, ended == Held::exclusive);
  return flushed.ok() ? released : flushed;
}

Status Window::lock_all(int assertions) {
  HEARTH_TRY(check_assertions(assertions, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"));
  HEARTH_TRY(check_quiet("MPI_Win_lock_all"));
  fence_open_ = false;
  all_locked_ = true;
  unchecked_ = (assertions & MPI_MODE_NOCHECK) != 0;
  for (int rank = 0; rank < comm_.size && !unchecked_; ++rank) {
    if (board_of(rank) == nullptr) continue;  // at the first access
    if (const Status status = acquire(rank, false); !status.ok()) {
      static_cast<void>(unlock_all());
      return status;
    }
    access_[static_cast<size_t>(rank)].held = Held::shared;
  }
  return {};
}

Status Window::unlock_all() {
  if (!all_locked_) return fail(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all was not called before");
  Status first = flush_all();
  all_locked_ = unchecked_ = false;
  for (int rank = 0; rank < comm_.size; ++rank) {
    const Held held = std::exchange(access_[static_cast<size_t>(rank)].held, Held::no);
    if (held != Held::shared) continue;
    const Status released = release(rank, false);
    if (first.ok()) first = released;
  }
  return first;
}

}  // namespace hearth::rma
