// What elements of a datatype are made of, one by one: for one-sided operations, which combine data in
// another process's memory and tell it where.
//
// Called under the library's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "datatype/layout.h"
#include "datatype/type.h"

namespace hearth::datatype {

/// The one predefined type that all data of `type` are of: a pair such as MPI_DOUBLE_INT counts as one.
/// nullptr where there are several, or none.
const Type* element_of(const Type& type);

/// Where the data of `count` elements lie, from the address that MPI calls take, in packed order. Neighbours
/// are one block.
std::vector<Block> blocks_of(const Type& type, Count count);

/// Whether one element of a predefined type has bytes between its members that are no data (MPI_SHORT_INT).
inline bool has_gap(const Type& element) {
  return element.size != element.true_extent;
}
/// The same for data that are all of this element: no block begins or ends within one. Of elements with a gap
/// each is a block, with its bytes of data.
std::vector<Block> blocks_of(const Type& type, Count count, const Type& element);

}  // namespace hearth::datatype
