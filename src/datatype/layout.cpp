#include "datatype/layout.h"

#include <utility>

namespace hearth::datatype {
namespace {

// A layout of at most this many blocks is flattened when it becomes a piece of another one: a list of blocks
// packs faster than a list of layouts.
constexpr int64_t kUnrolledBlocksMax = 16;
// Minimum number of blocks at equal distances that become a loop; a list of fewer blocks is as fast.
constexpr size_t kLoopedBlocksMin = 4;

/// The distance between blocks of equal size, if it is constant; otherwise 0.
int64_t common_distance(const std::vector<Block>& blocks) {
  if (blocks.size() < 2) return 0;
  const int64_t distance = blocks[1].offset - blocks[0].offset;
  for (size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i].bytes != blocks[0].bytes || blocks[i].offset - blocks[i - 1].offset != distance) return 0;
  }
  return distance;
}

/// Sets the members that follow from the blocks or parts of a unit.
std::shared_ptr<Layout> complete(Layout&& unit) {
  auto layout = std::make_shared<Layout>(std::move(unit));
  const std::vector<Block>& blocks = layout->blocks;
  layout->block_bytes = blocks.empty() ? 0 : blocks[0].bytes;
  for (const Block& block : blocks) {
    if (block.bytes != layout->block_bytes) layout->block_bytes = 0;
    layout->unit_bytes += block.bytes;
  }
  if (layout->block_bytes != 0) return layout;
  int64_t start = 0;
  for (const Block& block : blocks) {
    layout->starts.push_back(start);
    start += block.bytes;
  }
  for (const Part& part : layout->parts) {
    layout->starts.push_back(start);
    start += part.layout->bytes();
  }
  layout->unit_bytes = start;
  return layout;
}

LayoutPointer make_blocks(std::vector<Block> blocks) {
  const int64_t distance = common_distance(blocks);
  if (distance != 0 && blocks.size() >= kLoopedBlocksMin) {
    return repeat(make_block(blocks[0].offset, blocks[0].bytes), static_cast<int64_t>(blocks.size()),
                  distance);
  }
  blocks.shrink_to_fit();
  Layout unit;
  unit.blocks = std::move(blocks);
  return complete(std::move(unit));
}

LayoutPointer shift(const LayoutPointer& layout, int64_t offset) {
  if (offset == 0) return layout;
  auto shifted = std::make_shared<Layout>(*layout);
  for (Block& block : shifted->blocks) block.offset += offset;
  for (Part& part : shifted->parts) part.offset += offset;
  return shifted;
}

/// Number of blocks of a flattened layout; more than kUnrolledBlocksMax if it must not be flattened.
int64_t unrolled_blocks(const Layout& layout) {
  if (!layout.parts.empty()) return kUnrolledBlocksMax + 1;
  auto total = static_cast<int64_t>(layout.blocks.size());
  for (const Loop& loop : layout.loops) {
    if (total > kUnrolledBlocksMax || loop.count > kUnrolledBlocksMax) return kUnrolledBlocksMax + 1;
    total *= loop.count;
  }
  return total;
}

template <class Visit>
void for_each_block(const Layout& layout, size_t level, int64_t offset, Visit visit) {
  if (level < layout.loops.size()) {
    for (int64_t turn = 0; turn < layout.loops[level].count; ++turn)
      for_each_block(layout, level + 1, offset + turn * layout.loops[level].stride, visit);
  } else {
    for (const Block& block : layout.blocks) visit(offset + block.offset, block.bytes);
  }
}

}  // namespace

LayoutPointer make_block(int64_t offset, int64_t bytes) {
  Layout unit;
  unit.blocks = {{offset, bytes}};
  return complete(std::move(unit));
}

LayoutPointer repeat(const LayoutPointer& layout, int64_t count, int64_t stride) {
  if (count == 1) return layout;
  if (layout->one_block() && layout->unit_bytes == stride) {
    // Adjacent blocks are one block.
    return make_block(layout->blocks[0].offset, layout->unit_bytes * count);
  }
  auto repeated = std::make_shared<Layout>(*layout);
  const auto blocks = static_cast<int64_t>(layout->blocks.size());
  const int64_t distance = layout->loops.empty() ? common_distance(layout->blocks) : 0;
  if (distance != 0 && blocks * distance == stride) {
    // The blocks continue at the same distance in the next unit.
    const LayoutPointer first = make_block(layout->blocks[0].offset, layout->blocks[0].bytes);
    return repeat(first, blocks * count, distance);
  }
  if (!layout->loops.empty() && layout->loops[0].count * layout->loops[0].stride == stride) {
    // The outermost loop continues.
    repeated->loops[0].count *= count;
  } else {
    repeated->loops.insert(repeated->loops.begin(), Loop{count, stride, layout->bytes()});
  }
  return repeated;
}

void LayoutBuilder::add_block(int64_t offset, int64_t bytes) {
  if (bytes == 0) return;
  if (!blocks_.empty() && blocks_.back().offset + blocks_.back().bytes == offset) {
    blocks_.back().bytes += bytes;
  } else {
    blocks_.push_back({offset, bytes});
  }
}

void LayoutBuilder::add_layout(int64_t offset, const LayoutPointer& layout) {
  if (unrolled_blocks(*layout) <= kUnrolledBlocksMax) {
    for_each_block(*layout, 0, offset, [this](int64_t place, int64_t bytes) { add_block(place, bytes); });
    return;
  }
  close_blocks();
  parts_.push_back({offset, layout});
}

void LayoutBuilder::close_blocks() {
  if (blocks_.empty()) return;
  parts_.push_back({0, make_blocks(std::move(blocks_))});
  blocks_.clear();
}

LayoutPointer LayoutBuilder::finish() {
  if (parts_.empty()) return make_blocks(std::move(blocks_));
  close_blocks();
  // The same layout at equal distances, as in an array of blocks of vectors.
  bool regular = true;
  const int64_t distance = parts_.size() > 1 ? parts_[1].offset - parts_[0].offset : 0;
  for (size_t i = 1; i < parts_.size(); ++i) {
    regular = regular && parts_[i].layout == parts_[0].layout &&
              parts_[i].offset - parts_[i - 1].offset == distance;
  }
  if (regular)
    return repeat(shift(parts_[0].layout, parts_[0].offset), static_cast<int64_t>(parts_.size()), distance);
  Layout unit;
  unit.parts = std::move(parts_);
  return complete(std::move(unit));
}

}  // namespace hearth::datatype
