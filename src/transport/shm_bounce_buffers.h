// The bounce buffers of the shared-memory transport: the cell pools in the segment (shm/cells.h), one for
// each rank of the machine, and those of connected jobs in their segments. Each process takes cells of its
// own pool only. Owned by the transport, under the library's lock.
#pragma once

#include "shm/cells.h"
#include "shm/node.h"
#include "transport/transport.h"

namespace hearth::transport {

class ShmBounceBuffers final : public BounceBuffers {
 public:
  /// Pre: node outlives it.
  explicit ShmBounceBuffers(const shm::Node& node)
      : node_(node), segment_(node.segment()), cells_(segment_, node.local_rank()) {}

  size_t part_bytes_max() const override { return cells_.run_bytes_max(); }
  int take(size_t bytes, bool gap) override { return cells_.take(bytes, gap); }
  uint32_t ticket(PeerIndex owner, int run) override;
  bool returned(PeerIndex owner, int run, uint32_t ticket) override;
  std::byte* memory(PeerIndex owner, int run, size_t bytes) override;
  void release(PeerIndex owner, int run, PeerIndex from) override;

  /// See LocalPath::prefetch_cell().
  bool prefetch(size_t bytes_ahead) { return cells_.prefetch_for_write(bytes_ahead); }

 private:
  const shm::Node& node_;
  const shm::Segment& segment_;
  shm::CellPool cells_;
};

}  // namespace hearth::transport
