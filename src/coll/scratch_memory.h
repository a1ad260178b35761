// Memory for the intermediate results of one collective operation: lives as long as the operation. Short
// results are in the object itself, which is on the stack of a blocking call; longer ones are allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"

namespace hearth::coll {

class ScratchMemory {
 public:
  ScratchMemory() {}  // NOLINT(modernize-use-equals-default): must not clear the bytes
  /// `bytes` bytes, aligned to a cache line.
  Status take(int64_t bytes, std::byte*& memory);
  void clear() {
    blocks_.clear();
    own_used_ = 0;
  }

 private:
  static constexpr size_t kLineBytes = 64;
  static constexpr size_t kOwnBytes = 4096;

  size_t own_used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  alignas(kLineBytes) std::byte own_[kOwnBytes];
};

}  // namespace hearth::coll
