// Compiled with -mavx2: called only if the processor supports it.
#include "datatype/reduce_loops.h"

namespace hearth::datatype {
namespace {

struct Avx2 {};

}  // namespace

ReduceKernel* reduce_kernel_avx2(objects::OpKind op, Element element) {
  return reduction::ReduceLoops<Avx2>::find(op, element);
}

}  // namespace hearth::datatype
