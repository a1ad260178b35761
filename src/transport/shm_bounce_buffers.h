// The bounce buffers of the shared-memory transport: the buffer pools in the segment (shm/buffer_pool.h), one
// for each rank of the machine, and those of connected jobs in their segments. Each process takes buffers of
// its own pool only. Owned by the transport, under the library's lock.
#pragma once

#include "shm/buffer_pool.h"
#include "shm/node.h"
#include "transport/transport.h"

namespace hearth::transport {

class ShmBounceBuffers final : public BounceBuffers {
 public:
  /// Pre: node outlives it.
  explicit ShmBounceBuffers(const shm::Node& node)
      : node_(node), segment_(node.segment()), buffers_(segment_, node.local_rank()) {}

  size_t fragment_bytes_max() const override { return buffers_.run_bytes_max(); }
  int take(size_t bytes, const RunOptions& options) override {
    return buffers_.take(bytes, options.gap, options.bytes_left, options.patient);
  }
  uint32_t ticket(PeerIndex owner, int run) override;
  bool returned(PeerIndex owner, int run, uint32_t ticket) override;
  std::byte* memory(PeerIndex owner, int run, size_t bytes) override;
  void release(PeerIndex owner, int run, PeerIndex from) override;

  /// See LocalPath::prefetch_buffer().
  bool prefetch(size_t bytes_ahead) { return buffers_.prefetch_for_write(bytes_ahead); }

 private:
  const shm::Node& node_;
  const shm::Segment& segment_;
  shm::BufferPool buffers_;
};

}  // namespace hearth::transport
