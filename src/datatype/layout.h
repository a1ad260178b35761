// The layout of the data of one element of a datatype, if they are not contiguous.
//
//   unit:    a few blocks, packed in the order of the list; or parts, each with a layout of its own
//   loops:   repeat the unit, each with a stride; the outermost first
//
//   |##  #   |##  #   |##  #   |          |##  #   |##  #   |##  #   |
//    unit     inner stride                 outer stride ^
//
// So the size of a layout depends on how irregular it is, not on the number of blocks. Layouts are immutable
// and shared by datatypes and other layouts. Made under the library's lock, by the constructors of datatypes;
// read by packing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace hearth::datatype {

struct Layout;
using LayoutPointer = std::shared_ptr<const Layout>;

struct Block {
  int64_t offset;  // from the origin of the unit
  int64_t bytes;
};

struct Part {
  int64_t offset;  // from the origin of the unit to the origin of the layout
  LayoutPointer layout;
};

struct Loop {
  int64_t count;
  int64_t stride;      // in memory, from one iteration to the next
  int64_t turn_bytes;  // packed length of one iteration
};

struct Layout {
  std::vector<Loop> loops;
  std::vector<Block> blocks;
  std::vector<Part> parts;      // instead of blocks
  std::vector<int64_t> starts;  // begin of each block or part in the packed unit; empty if block_bytes != 0
  int64_t block_bytes = 0;      // length of each block if all are equal; otherwise 0
  int64_t unit_bytes = 0;       // packed

  bool one_block() const { return loops.empty() && blocks.size() == 1; }
  int64_t bytes() const { return loops.empty() ? unit_bytes : loops[0].count * loops[0].turn_bytes; }

  /// The index of the block or part of the unit that contains packed byte `from` of the unit.
  size_t index_at(int64_t from) const {
    if (block_bytes != 0) return static_cast<size_t>(from / block_bytes);
    return static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), from) - starts.begin()) - 1;
  }
  /// The packed position of a block or part in the unit.
  int64_t start_of(size_t index) const {
    return block_bytes != 0 ? static_cast<int64_t>(index) * block_bytes : starts[index];
  }
};

/// One block.
LayoutPointer make_block(int64_t offset, int64_t bytes);
/// `count` copies of `layout`, `stride` bytes apart. Pre: count > 0.
LayoutPointer repeat(const LayoutPointer& layout, int64_t count, int64_t stride);

/// Builds a layout of pieces that follow one another in packed order. Adjacent blocks are merged, blocks of
/// equal size at equal distances become a loop, and small layouts are flattened to their blocks.
class LayoutBuilder {
 public:
  void add_block(int64_t offset, int64_t bytes);
  void add_layout(int64_t offset, const LayoutPointer& layout);
  /// Pre: at least one piece was added.
  LayoutPointer finish();

 private:
  void close_blocks();

  std::vector<Block> blocks_;  // added since the last part
  std::vector<Part> parts_;
};

}  // namespace hearth::datatype
