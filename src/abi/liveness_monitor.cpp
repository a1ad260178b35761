#include "abi/liveness_monitor.h"

#include <algorithm>
#include <cstdio>

#include "abi/error.h"
#include "abi/runtime.h"
#include "base/atomic.h"
#include "base/os_wait.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

constexpr uint64_t kLivenessCheckNs = 100'000'000;
// Each check costs a system call.
constexpr size_t kChecksMax = 32;

}  // namespace

LivenessMonitor::LivenessMonitor(int size) {
  const shm::Node& node = shm::node();
  for (int rank = 0; rank < size; ++rank) {
    if (node.has(rank) && rank != node.self()) others_.push_back({rank, false, false});
  }
}

void LivenessMonitor::open() {
  for (const Monitored& peer : others_) {
    if (shm::node().block_of(peer.rank).pid != 0) static_cast<void>(shm::node().is_gone(peer.rank));
  }
}

void LivenessMonitor::check() {
  const uint64_t now = os::now_ns();
  if (now - checked_ns_ < kLivenessCheckNs) return;
  checked_ns_ = now;
  for (size_t left = std::min(kChecksMax, others_.size()); left > 0; --left) {
    next_ = (next_ + 1) % others_.size();
    check_peer(others_[next_]);
  }
}

void LivenessMonitor::check_peer(Monitored& peer) {
  Runtime& run = runtime();
  const shm::Node& node = shm::node();
  const shm::RankBlock& block = node.block_of(peer.rank);
  if (peer.reaped || block.pid == 0 || !node.is_gone(peer.rank)) return;
  // Pairs with enter_phase(): the last stores of the ended process are visible.
  if (atomic::load_acquire(block.phase) == static_cast<uint32_t>(shm::RankPhase::finalized)) {
    peer.reaped = true;
    return;
  }
  char words[160];
  std::snprintf(words, sizeof words, "rank %d of MPI_COMM_WORLD (process %u) ended without MPI_Finalize",
                peer.rank, block.pid);
  if (atomic::load_relaxed(node.block().returns_errors) != 0) {
    peer.reaped = true;
    if (run.lost.has_value()) return run.lost->note(peer.rank, words);
    return node.liveness().publish(node.local_rank_of(peer.rank), shm::DeathCause::no_finalize, 0);
  }
  // Most launchers end the job themselves and know the cause, so wait for one more check.
  if (!peer.gone) {
    peer.gone = true;
    return;
  }
  const Status died =
      fail(MPI_ERR_PROC_ABORTED,
           "%s. Likely cause: it crashed or was killed; its launcher knows how it ended", words);
  end_job(died.error_class(), last_failure_text());
}

}  // namespace hearth::abi
