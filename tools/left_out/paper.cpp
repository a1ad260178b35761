// `hearth bench paper` in a build without it.
#include "base/left_out.h"
#include "paper/bench_paper.h"

namespace hearth::tools {

Status run_paper(const PaperOptions&) {
  return left_out("hearth bench paper", "HEARTH_WITH_PAPER");
}

}  // namespace hearth::tools
