#include "transport/fabric_buffers.h"

#include <new>
#include <utility>

namespace hearth::transport {

bool FabricBuffers::take_slab() {
  Slab slab;
  slab.memory.reset(new (std::nothrow) std::byte[kEach * bytes_each_]);
  if (slab.memory == nullptr ||
      !endpoint_.register_memory(slab.memory.get(), kEach * bytes_each_, slab.registration)) {
    return false;
  }
  slab.buffers.resize(kEach);
  std::byte* data = slab.memory.get();
  for (FabricBuffer& buffer : slab.buffers) {
    buffer.data = data;
    buffer.registration = slab.registration != nullptr ? fi_mr_desc(slab.registration.get()) : nullptr;
    data += bytes_each_;
  }
  slabs_.push_back(std::move(slab));
  for (FabricBuffer& buffer : slabs_.back().buffers) give(&buffer);
  return true;
}

FabricBuffer* FabricBuffers::take() {
  if (free_ == nullptr && !take_slab()) return nullptr;
  FabricBuffer* buffer = free_;
  free_ = buffer->next;
  return buffer;
}

void FabricBuffers::give(FabricBuffer* buffer) {
  buffer->next = free_;
  free_ = buffer;
}

}  // namespace hearth::transport
