// Reductions of elements (MPI 5.0 section 6.9): inout[i] = in[i] op inout[i]. The order of the operands
// matters for operations that do not commute.
//
// Called by collectives, MPI_Reduce_local and accumulates, under the library's lock.
#pragma once

#include <cstddef>
#include <span>

#include "base/counts.h"
#include "base/status.h"
#include "base/vector_set.h"
#include "datatype/type.h"
#include "objects/op.h"

namespace hearth::datatype {

/// MPI_ERR_OP, with an explanation, if the operation is not defined for elements of this type. More is
/// allowed than the standard lists: a Fortran integer is treated as the C integer of its size, also in
/// logical operations.
Status check_reduction(const objects::Op& op, const Type& type);

/// The same check, then the reduction. The two buffers do not overlap. A user function that takes an int
/// count is called repeatedly if the count is larger.
Status reduce(const objects::Op& op, const Type& type, const void* in, void* inout, Count count);

/// to[i] = sources[0][i] op sources[1][i] op ... in this order; each source is read once and `to` is written
/// once. Operands are combined from the right, which user functions support without copies, so the bits do
/// not depend on the number of elements. Pre: there is at least one source. `to` overlaps no source, or is
/// one of them; for a user operation, the last one.
Status reduce_all(const objects::Op& op, const Type& type, std::span<const void* const> sources, void* to,
                  Count count);

/// .TRUE. and .FALSE. of Fortran (MPI 5.0 chapter 20: a C library cannot know them), sign-extended to the
/// widest LOGICAL; a narrower one is the low bytes. Reductions of LOGICAL treat every value but .FALSE. as
/// true. Written at most once, under the library's lock.
struct FortranBooleans {
  alignas(16) std::byte yes[16];
  alignas(16) std::byte no[16];
};
extern FortranBooleans fortran_booleans;

/// Combines `count` elements of one machine representation, one extent apart: to[i] = left[i] op right[i].
/// `to` is `left` or `right` or overlaps neither.
using ReduceKernel = void(const void* left, const void* right, void* to, size_t count);

/// The kernel of a predefined operation; nullptr if the operation is not defined. Pairs of
/// MPI_Type_get_value_index use reduce_pairs() instead. The first function selects the instruction set by the
/// processor.
ReduceKernel* reduce_kernel(objects::OpKind op, Element element);
ReduceKernel* reduce_kernel(VectorSet set, objects::OpKind op, Element element);

/// Reduces unnamed pairs of a value and an index. has_pair_kernel(): whether pairs with such a value are
/// supported.
void reduce_pairs(objects::OpKind op, const Type& pair, const void* left, const void* right, void* to,
                  Count count);
bool has_pair_kernel(Element value);

// The same kernels, compiled for one instruction set each. The last two exist on x86 only.
ReduceKernel* reduce_kernel_baseline(objects::OpKind op, Element element);
ReduceKernel* reduce_kernel_avx2(objects::OpKind op, Element element);
ReduceKernel* reduce_kernel_avx512(objects::OpKind op, Element element);

}  // namespace hearth::datatype
