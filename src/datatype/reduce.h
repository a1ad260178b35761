// What reductions do to elements (MPI 5.0 section 6.9): inout[i] = in[i] op inout[i], in that order, which
// counts for operations that do not commute.
//
// Called by collectives, MPI_Reduce_local and accumulates, under the library's lock.
#pragma once

#include "base/counts.h"
#include "base/status.h"
#include "datatype/type.h"
#include "objects/op.h"

namespace hearth::datatype {

/// MPI_ERR_OP, with words, when the operation is not defined on elements of this type. Somewhat more is
/// allowed than the standard lists: a Fortran integer is the C integer of its size, for logical operations
/// too.
Status check_reduction(const objects::Op& op, const Type& type);

/// The same check, then the reduction. The two buffers do not overlap. A user's function that takes an int
/// count is called more than once where the count is longer.
Status reduce(const objects::Op& op, const Type& type, const void* in, void* inout, Count count);

/// Combines `count` elements of one machine representation, one extent apart.
using ReduceKernel = void(const void* in, void* inout, size_t count);
/// For unnamed pairs of a value and an index, and whether there may be a pair with such a value.
void reduce_pairs(objects::OpKind op, const Type& pair, const void* in, void* inout, Count count);
bool has_pair_kernel(Element value);

/// The kernel of a predefined operation; nullptr where the operation is not defined.
ReduceKernel* reduce_kernel(objects::OpKind op, Element element);

}  // namespace hearth::datatype
