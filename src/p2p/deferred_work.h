// Deferred work, done while a call is blocked, to keep it off the critical path of messages:
//
//   release of bounce buffers   The mark is in the owner's cache. Stores become visible in order, so an
//                               answer would have to wait for the store of the mark.
//   prefetch for write          Ring slots for a packet as long as the last one to each peer, and the next
//                               bounce buffers, come from the cache of the process that read them last.
//
// If the cores share no cache, each of these saves a message a cache-to-cache transfer of 250 ns or more
// (docs/notebook/copying.md). Owned by the engine, under the library's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "p2p/envelope.h"
#include "transport/local_path.h"
#include "transport/transport.h"

namespace hearth::p2p {

class DeferredWork {
 public:
  DeferredWork(PeerIndex self, int processes, transport::Transport& transport);

  bool any() const { return any_; }
  /// Does a bounded part of the work: polling continues in between.
  void run();

  /// A packet of `bytes` bytes was sent: a packet of the same length will be prefetched, and `prefetched`
  /// set to its length. The variable outlives this object.
  void sent_in_ring(PeerIndex to, uint32_t bytes, uint32_t& prefetched) {
    if (sent_count_ == kEntriesMax) return;
    sent_[static_cast<size_t>(sent_count_++)] = {to, bytes, &prefetched};
    any_ = true;
  }
  /// A message of `bytes` bytes was sent in bounce buffers through the caches: as many will be prefetched.
  void sent_in_buffers(int64_t bytes);

  /// Releases the bounce buffers of a fragment from this process soon. The owner uses other buffers
  /// meanwhile. The bytes that all receivers together withhold are bounded, so the owner always has some,
  /// even if this process does not call MPI for a long time.
  void release(PeerIndex from, const Fragment& fragment);
  /// Releases all of them now.
  void release_now();

 private:
  static constexpr int kEntriesMax = 8;
  struct Emptied {
    PeerIndex from;  // the process that filled them
    Fragment fragment;
  };
  struct Sent {
    PeerIndex to;
    uint32_t bytes;
    uint32_t* prefetched;
  };

  const PeerIndex self_;
  transport::BounceBuffers& runs_;
  transport::LocalPath& local_path_;
  const int64_t emptied_bytes_max_;
  bool any_ = false;
  int emptied_count_ = 0;
  int sent_count_ = 0;
  int64_t emptied_bytes_ = 0;
  int64_t ahead_bytes_ = 0;  // of bounce buffers that remain to be prefetched
  std::array<Emptied, kEntriesMax> emptied_;
  std::array<Sent, kEntriesMax> sent_;
};

}  // namespace hearth::p2p
