#include "datatype/layout.h"

#include <utility>

namespace hearth::datatype {

LayoutPointer make_layout(std::vector<Block> blocks) {
  auto layout = std::make_shared<Layout>();
  for (const Block& block : blocks) layout->unit_bytes += block.bytes;
  layout->blocks = std::move(blocks);
  return layout;
}

LayoutPointer repeat(const LayoutPointer& layout, int64_t count, int64_t stride) {
  if (count == 1) return layout;
  auto repeated = std::make_shared<Layout>(*layout);
  if (layout->one_block() && layout->unit_bytes == stride) {
    // Blocks that touch are one block.
    repeated->blocks[0].bytes *= count;
    repeated->unit_bytes *= count;
  } else if (!layout->loops.empty() && layout->loops[0].count * layout->loops[0].stride == stride) {
    // The outermost loop goes on.
    repeated->loops[0].count *= count;
  } else {
    repeated->loops.insert(repeated->loops.begin(), Loop{count, stride});
  }
  return repeated;
}

}  // namespace hearth::datatype
