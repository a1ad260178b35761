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
  /// The local rank, by which the arena and the control blocks address a process; -1 on another machine or
  /// in another job.
  int local_rank_of(PeerIndex peer) const {
    if (peer >= home_size_) return -1;
    return node_ == nullptr ? static_cast<int>(peer) : node_->local_rank_of(peer);
  }
  int own_local_rank() const { return local_rank_of(self_); }
  /// Whether this process and another one can share copies.
  bool has_control_blocks(PeerIndex peer) const { return node_ != nullptr && local_rank_of(peer) >= 0; }
  /// Pre: has_control_blocks(peer).
  shm::CopyControlBlock& control_block(PeerIndex peer) const { return node_->block_of(peer).control_block; }
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

  Access& of(PeerIndex peer) { return accesses_[static_cast<size_t>(peer)]; }
  const Access& of(PeerIndex peer) const { return accesses_[static_cast<size_t>(peer)]; }

  const PeerIndex self_;
  const PeerIndex home_size_;  // processes of the own job
  transport::Transport& transport_;
  const shm::Node* const node_;
  const std::vector<single_copy::Method*> methods_;
  profile::Recorder* const recorder_;
  PeerTable<Access> accesses_;  // by peer
};

}  // namespace hearth::p2p
