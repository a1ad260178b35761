// Compiled with -mavx512f and what else kernels of vectors of 64 bytes need (CMakeLists.txt): called only
// where the processor has all of it.
#include "datatype/reduce_loops.h"

namespace hearth::datatype {
namespace {

struct Avx512 {};

}  // namespace

ReduceKernel* reduce_kernel_avx512(objects::OpKind op, Element element) {
  return reduction::ReduceLoops<Avx512>::find(op, element);
}

}  // namespace hearth::datatype
