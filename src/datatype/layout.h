// Where the data of one element of a datatype lie, when they are not simply one after another.
//
//   a unit:   a few blocks, packed in the order of the list; or parts, each with a layout of its own
//   loops:    the unit again and again, each loop with a stride; the outermost first
//
//   |##  #   |##  #   |##  #   |          |##  #   |##  #   |##  #   |
//    unit     inner stride                 outer stride ^
//
// So a layout is as long as what is irregular about it, not as its number of blocks. It never changes once
// made; datatypes and other layouts share it. Made under the library's lock, by the constructors of
// datatypes; read by packing.
#pragma once

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
  int64_t stride;      // in memory, from one turn to the next
  int64_t turn_bytes;  // packed
};

struct Layout {
  std::vector<Loop> loops;
  std::vector<Block> blocks;
  std::vector<Part> parts;      // instead of blocks
  std::vector<int64_t> starts;  // where each block or part begins in the packed unit, if not at a multiple
  int64_t block_bytes = 0;      // of every block, where all are alike; otherwise 0
  int64_t unit_bytes = 0;       // packed

  bool one_block() const { return loops.empty() && blocks.size() == 1; }
  int64_t bytes() const { return loops.empty() ? unit_bytes : loops[0].count * loops[0].turn_bytes; }
};

/// One block.
LayoutPointer make_block(int64_t offset, int64_t bytes);
/// All of `layout`, `count` times, `stride` bytes apart. Pre: count > 0.
LayoutPointer repeat(const LayoutPointer& layout, int64_t count, int64_t stride);

/// Makes a layout of pieces, one after another in packed order. Blocks that touch become one, blocks of one
/// size at equal distances a loop, and what is small is taken apart into its blocks.
class LayoutBuilder {
 public:
  void add_block(int64_t offset, int64_t bytes);
  void add_layout(int64_t offset, const LayoutPointer& layout);
  /// Pre: something was added.
  LayoutPointer finish();

 private:
  void close_blocks();

  std::vector<Block> blocks_;  // since the last part
  std::vector<Part> parts_;
};

}  // namespace hearth::datatype
