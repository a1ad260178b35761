// Compiled with -mavx512f and the other options for 64-byte vectors (CMakeLists.txt): called only if the
// processor supports all of them.
#include "datatype/reduce_loops.h"

namespace hearth::datatype {
namespace {

struct Avx512 {};

}  // namespace

ReduceKernel* reduce_kernel_avx512(objects::OpKind op, Element element) {
  return reduction::ReduceLoops<Avx512>::find(op, element);
}

}  // namespace hearth::datatype
