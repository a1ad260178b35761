#include "coll/scratch_memory.h"

#include <new>
#include <utility>

#include "mpi.h"

namespace hearth::coll {

Status ScratchMemory::take(int64_t bytes, std::byte*& memory) {
  const auto wanted = static_cast<size_t>(bytes);
  if (wanted <= kOwnBytes - own_used_) {
    memory = own_ + own_used_;
    own_used_ += (wanted + kLineBytes - 1) / kLineBytes * kLineBytes;
    return {};
  }
  std::unique_ptr<std::byte[]> block(new (std::nothrow) std::byte[wanted]);
  if (block == nullptr) {
    return fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of intermediate results", wanted);
  }
  memory = block.get();
  blocks_.push_back(std::move(block));
  return {};
}

}  // namespace hearth::coll
