// Where the data of one element of a datatype lie, when they are not simply one after another.
//
//   a unit:   a few blocks, packed in the order of the list
//   loops:    the unit again and again, each loop with a stride; the outermost first
//
//   |##  #   |##  #   |##  #   |          |##  #   |##  #   |##  #   |
//    unit     inner stride                 outer stride ^
//
// A layout never changes once made; datatypes that differ in bounds only share it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace hearth::datatype {

struct Block {
  int64_t offset;  // from the origin of the unit
  int64_t bytes;
};

struct Loop {
  int64_t count;
  int64_t stride;  // bytes from one turn to the next
};

struct Layout {
  std::vector<Block> blocks;
  std::vector<Loop> loops;
  int64_t unit_bytes = 0;  // the sum over blocks

  bool one_block() const { return loops.empty() && blocks.size() == 1; }
};

using LayoutPointer = std::shared_ptr<const Layout>;

/// Blocks without loops.
LayoutPointer make_layout(std::vector<Block> blocks);
/// All of `layout`, `count` times, `stride` bytes apart. Pre: count > 0.
LayoutPointer repeat(const LayoutPointer& layout, int64_t count, int64_t stride);

}  // namespace hearth::datatype
