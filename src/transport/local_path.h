// What the engine may do without a call of the transport, or with knowledge of shared memory: write and read
// the rings of a process on this machine, prefetch them, and copy from its memory. Optional: the defaults
// mean that no process is reached this way, and packets carry everything.
//
// Under the library's lock. Only the shared-memory transport, the router and p2p include this.
#pragma once

#include <cstddef>

#include "base/peer_index.h"
#include "shm/ring.h"
#include "single_copy/single_copy.h"

namespace hearth::transport {

class LocalPath {
 public:
  virtual ~LocalPath() = default;

  /// The direct ring to a peer, for writes without a call of the transport; nullptr until it is open.
  virtual shm::RingWriter* direct_ring_to(PeerIndex) { return nullptr; }
  /// The direct ring from a peer, for reads without a call of the transport; nullptr until it is open.
  virtual shm::RingReader* direct_ring_from(PeerIndex) { return nullptr; }

  // Prefetch for write, by a blocked process: fetches the memory that it will write next from other
  // processors' caches.
  /// The memory of the next packet with this payload; false if there is no room.
  virtual bool prefetch_room(PeerIndex, size_t /*payload_bytes*/) { return false; }
  /// One more of the next bounce buffers, up to `bytes_ahead`; false if there is none.
  virtual bool prefetch_buffer(size_t /*bytes_ahead*/) { return false; }

  /// The single-copy target of a process on this machine; false if it is on another one.
  virtual bool target_of(PeerIndex, single_copy::Target&) { return false; }
};

}  // namespace hearth::transport
