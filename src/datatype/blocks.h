// The blocks of memory that the data of a datatype occupy. For one-sided operations, which combine data in
// the memory of another process and send it the blocks.
//
// Called under the library's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "datatype/layout.h"
#include "datatype/type.h"

namespace hearth::datatype {

/// The predefined type of all data of `type`; a pair such as MPI_DOUBLE_INT counts as one type. nullptr if
/// there are several types, or none.
const Type* element_of(const Type& type);

/// The blocks of the data of `count` elements in packed order, with offsets from the buffer address of MPI
/// calls. Adjacent blocks are merged.
std::vector<Block> blocks_of(const Type& type, Count count);

/// Whether an element of a predefined type has padding between its members (MPI_SHORT_INT).
inline bool has_gap(const Type& element) {
  return element.size != element.true_extent;
}
/// The same for data that consist of this element only: no block begins or ends within an element. If
/// elements have padding, each is a block of its own, whose length counts the data only.
std::vector<Block> blocks_of(const Type& type, Count count, const Type& element);

}  // namespace hearth::datatype
