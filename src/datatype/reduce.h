// What reductions do to elements (MPI 5.0 section 6.9): inout[i] = in[i] op inout[i], in that order, which
// counts for operations that do not commute.
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

/// MPI_ERR_OP, with words, when the operation is not defined on elements of this type. Somewhat more is
/// allowed than the standard lists: a Fortran integer is the C integer of its size, for logical operations
/// too.
Status check_reduction(const objects::Op& op, const Type& type);

/// The same check, then the reduction. The two buffers do not overlap. A user's function that takes an int
/// count is called more than once where the count is longer.
Status reduce(const objects::Op& op, const Type& type, const void* in, void* inout, Count count);

/// to[i] = sources[0][i] op sources[1][i] op ... in this order, each source read once and `to` written once.
/// The right ones are combined first, which is what the user's functions do without copies; so the bits do
/// not depend on how many elements there are. Pre: at least one source. `to` overlaps none
/// of them, or is one of them; for a user's operation the last one.
Status reduce_all(const objects::Op& op, const Type& type, std::span<const void* const> sources, void* to,
                  Count count);

/// .TRUE. and .FALSE. of Fortran (MPI 5.0 chapter 20: a library for C cannot know them), extended with their
/// sign to the widest LOGICAL; a narrower one has the low bytes. Reductions of LOGICAL take all but .FALSE.
/// for true. Written once at most, under the library's lock.
struct FortranBooleans {
  alignas(16) std::byte yes[16];
  alignas(16) std::byte no[16];
};
extern FortranBooleans fortran_booleans;

/// Combines `count` elements of one machine representation, one extent apart: to[i] = left[i] op right[i].
/// `to` is `left` or `right` or overlaps neither.
using ReduceKernel = void(const void* left, const void* right, void* to, size_t count);

/// The kernel of a predefined operation; nullptr where the operation is not defined. For pairs of
/// MPI_Type_get_value_index see reduce_pairs(). The first chooses by what the processor has.
ReduceKernel* reduce_kernel(objects::OpKind op, Element element);
ReduceKernel* reduce_kernel(VectorSet set, objects::OpKind op, Element element);

/// For unnamed pairs of a value and an index, and whether there may be a pair with such a value.
void reduce_pairs(objects::OpKind op, const Type& pair, const void* left, const void* right, void* to,
                  Count count);
bool has_pair_kernel(Element value);

// The same kernels, compiled for one instruction set each. The latter two on x86 only.
ReduceKernel* reduce_kernel_baseline(objects::OpKind op, Element element);
ReduceKernel* reduce_kernel_avx2(objects::OpKind op, Element element);
ReduceKernel* reduce_kernel_avx512(objects::OpKind op, Element element);

}  // namespace hearth::datatype
