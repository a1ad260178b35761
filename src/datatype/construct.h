// Constructors of datatypes (MPI 5.0 section 5.1). Each returns a new type that holds a reference on what it
// was made from. Called under the library's lock.
#pragma once

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"

namespace hearth::datatype {

Status make_contiguous(Count count, Type& old, Type*& made);
Status make_resized(Type& old, int64_t lower_bound, int64_t extent, Type*& made);
/// Equal in all but name and attributes, and committed if the old one is.
Status make_duplicate(Type& old, Type*& made);
/// A second type that says the same of its construction as the first: what MPI_Type_get_contents hands out.
Status make_twin(const Type& old, Type*& made);

}  // namespace hearth::datatype
