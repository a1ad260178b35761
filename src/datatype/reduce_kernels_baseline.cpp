// For the vector instructions of every processor of the architecture: SSE2, NEON.
#include "datatype/reduce_loops.h"

namespace hearth::datatype {
namespace {

struct Baseline {};

}  // namespace

ReduceKernel* reduce_kernel_baseline(objects::OpKind op, Element element) {
  return reduction::ReduceLoops<Baseline>::find(op, element);
}

}  // namespace hearth::datatype
