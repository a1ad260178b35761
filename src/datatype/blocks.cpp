#include "datatype/blocks.h"

#include <algorithm>
#include <utility>

#include "datatype/signature.h"
#include "mpi.h"

namespace hearth::datatype {
namespace {

class Collector {
 public:
  void add(int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    if (!blocks_.empty() && blocks_.back().offset + blocks_.back().bytes == offset) {
      blocks_.back().bytes += bytes;
    } else {
      blocks_.push_back({offset, bytes});
    }
  }
  void add(const Layout& layout, int64_t origin, size_t loop = 0) {
    if (loop < layout.loops.size()) {
      const Loop& turns = layout.loops[loop];
      for (int64_t turn = 0; turn < turns.count; ++turn) add(layout, origin + turn * turns.stride, loop + 1);
      return;
    }
    for (const Block& block : layout.blocks) add(origin + block.offset, block.bytes);
    for (const Part& part : layout.parts) add(*part.layout, origin + part.offset);
  }
  std::vector<Block> take() { return std::move(blocks_); }

 private:
  std::vector<Block> blocks_;
};

}  // namespace

const Type* element_of(const Type& type) {
  if (type.is_predefined()) return type.element == Element::none ? nullptr : &type;
  const Type* common = nullptr;
  for (size_t member = 0; member < type.types.size(); ++member) {
    if (type.combiner == MPI_COMBINER_STRUCT && block_length(type, member) == 0) continue;
    const Type* const element = element_of(*type.types[member]);
    if (element == nullptr || (common != nullptr && element != common)) return nullptr;
    common = element;
  }
  return common;
}

std::vector<Block> blocks_of(const Type& type, Count count) {
  Collector blocks;
  if (type.contiguous) {
    blocks.add(type.true_lower_bound, count * type.size);
  } else {
    for (Count i = 0; i < count; ++i) blocks.add(*type.layout, i * type.extent);
  }
  return blocks.take();
}

std::vector<Block> blocks_of(const Type& type, Count count, const Type& element) {
  std::vector<Block> blocks = blocks_of(type, count);
  if (!has_gap(element)) return blocks;
  std::vector<Block> elements;
  int64_t missing = 0;  // bytes of the current element that are still to come
  for (Block block : blocks) {
    while (block.bytes > 0) {
      if (missing == 0) {
        elements.push_back({block.offset, element.size});
        missing = element.size;
      }
      const int64_t taken = std::min(block.bytes, missing);
      missing -= taken;
      block.offset += taken;
      block.bytes -= taken;
    }
  }
  return elements;
}

}  // namespace hearth::datatype
