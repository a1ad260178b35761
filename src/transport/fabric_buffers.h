// The packet buffers of the fabric transport: registered memory, allocated in slabs and kept until the end,
// and the contexts that libfabric returns with a completion. Owned by the transport, under the library's
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/peer_index.h"
#include "transport/fabric_endpoint.h"

namespace hearth::transport {

/// The context of a libfabric operation, which its completion returns. libfabric's own part is first.
struct FabricOperation {
  enum class Kind : uint8_t { receive, send, buffer_comes, buffer_leaves };
  fi_context2 own = {};
  Kind kind = Kind::receive;
  PeerIndex peer = 0;
};

struct FabricBuffer : FabricOperation {
  FabricBuffer* next = nullptr;
  std::byte* data = nullptr;  // FabricBuffers::bytes_each()
  void* registration = nullptr;
  uint32_t bytes = 0;
};

class FabricBuffers {
 public:
  /// Pre: the endpoint outlives it, and is closed before it is destroyed.
  explicit FabricBuffers(FabricEndpoint& endpoint) : endpoint_(endpoint) {}
  /// Called once, before the first take().
  void set_length(size_t bytes_each) { bytes_each_ = bytes_each; }
  size_t bytes_each() const { return bytes_each_; }

  /// nullptr if there is no memory.
  FabricBuffer* take();
  void give(FabricBuffer* buffer);

 private:
  // Buffers that are allocated together.
  static constexpr int kEach = 16;

  struct Slab {
    std::unique_ptr<std::byte[]> memory;
    std::vector<FabricBuffer> buffers;
    Fid<fid_mr> registration;
  };
  bool take_slab();

  FabricEndpoint& endpoint_;
  size_t bytes_each_ = 0;
  std::vector<Slab> slabs_;
  FabricBuffer* free_ = nullptr;
};

}  // namespace hearth::transport
