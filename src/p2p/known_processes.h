// The processes that an engine knows: those of its job, and of jobs that it is or was connected to. Under the
// library's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/peer_table.h"
#include "p2p/bounce_buffers.h"
#include "p2p/deferred_work.h"

namespace hearth::p2p {

class KnownProcesses {
 public:
  /// Allocates a block of context ids that no other communicator of these processes has.
  using NewContext = std::function<uint32_t(std::span<const PeerIndex>)>;

  /// The job has `size` processes; up to `size_max` can be known. `deferred` and `buffers` need not be
  /// constructed yet.
  KnownProcesses(int size, int size_max, DeferredWork& deferred, BounceBuffers& buffers,
                 NewContext new_context)
      : set_(size, size_max), deferred_(deferred), buffers_(buffers), new_context_(std::move(new_context)) {}

  /// The tables of the engine's parts are members of it.
  PeerSet& set() { return set_; }
  int count() const { return set_.count(); }
  /// Adds a process of another job, with the next index; false: no room or no memory.
  bool add() { return set_.grow(); }
  /// Resets the state of a process that has left, so that its index can be reused. Pre: no operation needs
  /// it.
  void renew(PeerIndex peer) {
    buffers_.forget(peer);
    if (deferred_.any()) deferred_.run();  // deferred work may refer to the process
    set_.renew(peer);
  }
  /// Releases the bounce buffers that this process keeps for its next messages to a process that it leaves:
  /// that process cannot take them back.
  void release_buffers(PeerIndex peer) { buffers_.release_recycled(peer); }
  /// The first of a block of context ids that all of `members` may use (base/contexts.h).
  uint32_t new_context(std::span<const PeerIndex> members) { return new_context_(members); }

 private:
  PeerSet set_;
  DeferredWork& deferred_;
  BounceBuffers& buffers_;
  const NewContext new_context_;
};

}  // namespace hearth::p2p
