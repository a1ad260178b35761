// Which access this process has to the memory of each other process: the single-copy method that can read it
// or write to it, probed at the first use; and the control blocks in the segment by which processes share
// copies and limit their number.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/peer_table.h"
#include "objects/group.h"
#include "shm/layout.h"
#include "shm/node.h"
#include "single_copy/single_copy.h"
#include "transport/transport.h"

namespace hearth::profile {
class Recorder;
}

namespace hearth::p2p {

using objects::PeerIndex;

class MemoryAccess {
 public:
  /// `node`: has the control blocks and the local ranks; nullptr: there are no control blocks, and all
  /// processes are on one machine. `methods`: in order of preference.
  MemoryAccess(PeerIndex self, const PeerRoom& room, transport::Transport& transport, const shm::Node* node,
               const std::vector<single_copy::Method*>& methods, profile::Recorder* recorder);

  /// The first method that can read a known word of exactly that process; nullptr: none.
  single_copy::Method* reader_of(PeerIndex peer);
  /// The method for writes; nullptr: none.
  single_copy::Method* writer_of(PeerIndex peer);
  /// Set by the first call of reader_of().
  const single_copy::Target& target_of(PeerIndex peer) const { return of(peer).target; }
  // A failure after a successful probe (a filter was installed, memory is short) is treated as permanent.
  void refuse_reading(PeerIndex peer) { of(peer).reading = Ability::refused; }
  void refuse_writing(PeerIndex peer) { of(peer).writing = Ability::refused; }

  PeerIndex self() const { return self_; }
  // This process and another one share copies in the segment that both are in: that of the job, or that of a
  // bridge to another job. There they have control blocks and local ranks, by which both address each other.
  /// Whether there is such a segment.
  bool has_control_blocks(PeerIndex peer) const { return shared_with(peer) != nullptr; }
  /// The local rank; without control blocks, any number by which both sides know the process.
  int local_rank_of(PeerIndex peer) const {
    const shm::Node* node = shared_with(peer);
    return node == nullptr ? static_cast<int>(peer) : node->local_rank_of(peer);
  }
  /// The local rank of this process in the segment that it shares with a peer.
  int own_local_rank(PeerIndex peer) const {
    const shm::Node* node = shared_with(peer);
    return node == nullptr ? static_cast<int>(self_) : node->local_rank();
  }
  /// Pre: has_control_blocks(peer).
  shm::CopyControlBlock& control_block(PeerIndex peer) const {
    return shared_with(peer)->block_of(peer).control_block;
  }
  /// That of this process, for copies from that peer. Pre: has_control_blocks(peer).
  shm::CopyControlBlock& own_control_block(PeerIndex peer) const {
    return shared_with(peer)->block().control_block;
  }
  /// Address of memory in the peer's arena slice; nullptr if it cannot be mapped here.
  std::byte* arena_memory_of(PeerIndex peer, uint64_t offset, size_t bytes) const {
    return node_ == nullptr ? nullptr : node_->arena_memory_of(peer, offset, bytes);
  }
  /// The control block that counts concurrent accesses to that process's memory; nullptr if they are not
  /// counted.
  shm::CopyControlBlock* counted_block(PeerIndex peer, const single_copy::Method& method) const {
    return has_control_blocks(peer) && method.takes_lock() ? &control_block(peer) : nullptr;
  }
  /// Clears the accesses to this process's memory that a dead process has registered.
  void reap(PeerIndex process) const;

 private:
  enum class Ability : uint8_t { untried, works, refused };
  struct Access {
    Ability reading = Ability::untried;
    Ability writing = Ability::untried;
    single_copy::Method* method = nullptr;
    single_copy::Target target;
  };

  const shm::Node* shared_with(PeerIndex peer) const {
    return node_ == nullptr ? nullptr : node_->shared_with(peer);
  }
  Access& of(PeerIndex peer) { return accesses_[static_cast<size_t>(peer)]; }
  const Access& of(PeerIndex peer) const { return accesses_[static_cast<size_t>(peer)]; }

  const PeerIndex self_;
  transport::Transport& transport_;
  const shm::Node* const node_;
  const std::vector<single_copy::Method*> methods_;
  profile::Recorder* const recorder_;
  PeerTable<Access> accesses_;  // by peer
};

}  // namespace hearth::p2p
