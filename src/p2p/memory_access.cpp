#include "p2p/memory_access.h"

#include "p2p/cma_access.h"
#include "profile/recorder.h"
#include "transport/local_path.h"

namespace hearth::p2p {

MemoryAccess::MemoryAccess(PeerIndex self, const PeerRoom& room, transport::Transport& transport,
                           const shm::Node* node, const std::vector<single_copy::Method*>& methods,
                           profile::Recorder* recorder)
    : self_(self),
      transport_(transport),
      node_(node),
      methods_(methods),
      recorder_(recorder),
      accesses_(room) {}

single_copy::Method* MemoryAccess::reader_of(PeerIndex peer) {
  Access& access = of(peer);
  if (access.reading == Ability::untried) {
    access.reading = Ability::refused;
    const bool reachable = transport_.local_path().target_of(peer, access.target);
    for (single_copy::Method* method : methods_) {
      if (!reachable || !method->probe_read(access.target)) continue;
      access.method = method;
      access.reading = Ability::works;
      break;
    }
    if (recorder_ != nullptr) {
      recorder_->set_method(peer, access.method != nullptr ? access.method->name() : nullptr);
    }
  }
  return access.reading == Ability::works ? access.method : nullptr;
}

// Needs a successful read probe first, which verifies the identity of the process.
single_copy::Method* MemoryAccess::writer_of(PeerIndex peer) {
  Access& access = of(peer);
  if (access.writing == Ability::untried) {
    static_cast<void>(reader_of(peer));
    const bool works = access.method != nullptr && access.method->probe_write(access.target);
    access.writing = works ? Ability::works : Ability::refused;
  }
  return access.writing == Ability::works ? access.method : nullptr;
}

// Only processes on this machine have slots in the control block.
void MemoryAccess::reap(PeerIndex process) const {
  if (has_control_blocks(process)) {
    CmaAccess::end_of(own_control_block(process), local_rank_of(process));
  }
}

}  // namespace hearth::p2p
