// The bounce buffers of this process's messages beyond the life cycle of a single run (shm/buffer_pool.h):
// which process has a run of the own pool, so that it can be reclaimed if that process dies, and the runs
// that are kept for recycling (recycled_buffers.h). A fragment names its run by Fragment.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/peer_table.h"
#include "p2p/deferred_work.h"
#include "p2p/envelope.h"
#include "p2p/fatal_errors.h"
#include "p2p/recycled_buffers.h"
#include "transport/transport.h"

namespace hearth::p2p {

class BounceBuffers {
 public:
  BounceBuffers(PeerIndex self, const PeerRoom& room, transport::Transport& transport, DeferredWork& deferred,
                const FatalErrors& errors);
  /// Releases all kept runs.
  ~BounceBuffers();
  BounceBuffers(const BounceBuffers&) = delete;
  BounceBuffers& operator=(const BounceBuffers&) = delete;

  /// Longest message whose buffers may be kept, and most bytes kept per peer. The two processes of a pair of
  /// different jobs may have different limits, see may_be_kept().
  int64_t recycled_bytes_max(PeerIndex peer) const {
    return __builtin_expect(peer < home_size_, 1) ? recycled_bytes_max_ : foreign_recycled_bytes_max();
  }
  /// Whether that process may keep the buffers of a message of this length.
  bool may_be_kept(PeerIndex to, int64_t bytes) const {
    return to >= home_size_ || bytes <= recycled_bytes_max_;
  }
  RecycledBuffers& recycled(PeerIndex peer) { return recycled_[static_cast<size_t>(peer)]; }

  // Runs that this process fills.
  /// Takes free buffers of the own pool for a fragment to `to`; -1: none.
  int take(PeerIndex to, size_t bytes, const transport::BounceBuffers::RunOptions& options);
  /// Records that a recycled run of the own pool is sent to a peer again.
  void note_receiver(int buffer, PeerIndex receiver) {
    const auto at = static_cast<size_t>(buffer);
    if (__builtin_expect(at >= receivers_.size(), 0)) grow_receivers(at + 1);
    receivers_[at] = receiver;
  }

  // Runs that a peer has filled.
  /// Called for a fragment from a peer in a run of the own pool, which is thereby returned. A run that this
  /// process has not sent to the peer ends the job.
  void came(PeerIndex from, const Fragment& fragment);
  /// Its memory; a run that does not exist ends the job.
  const std::byte* memory_of(PeerIndex from, const Fragment& fragment) const;
  /// Keeps an emptied run for recycling if `may_keep` and there is an allowance, otherwise releases it.
  void emptied(PeerIndex from, const Fragment& fragment, bool may_keep) {
    if (!may_keep || !recycled(from).keep(fragment)) deferred_.release(from, fragment);
  }
  /// Releases a run whose message is not received.
  void drop(PeerIndex from, const Fragment& fragment);
  /// Releases the runs kept for a peer.
  void release_recycled(PeerIndex peer);
  /// Reclaims the runs of the own pool that a dead process has not released.
  void reclaim(PeerIndex process);
  /// Called when this process disconnects from another one (MPI_Comm_disconnect) and no packet of that
  /// process can arrive any more: releases the runs of its pool that this process keeps. That process
  /// likewise releases the runs of the own pool that it keeps.
  void forget(PeerIndex process);
  [[noreturn, gnu::cold]] void refuse(PeerIndex from, const Fragment& fragment) const;

 private:
  [[gnu::cold]] void grow_receivers(size_t buffers);
  int64_t foreign_recycled_bytes_max() const;

  const PeerIndex self_;
  const PeerIndex home_size_;  // processes of the own job
  transport::BounceBuffers& runs_;
  DeferredWork& deferred_;
  const FatalErrors& errors_;
  const int64_t recycled_bytes_max_;
  PeerTable<RecycledBuffers> recycled_;  // by peer
  std::vector<PeerIndex> receivers_;     // by own buffer: the process that it was sent to
};

}  // namespace hearth::p2p
