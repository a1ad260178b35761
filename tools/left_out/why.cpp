// `hearth why` and `hearth top` in a build without them.
#include "why.h"
#include "base/left_out.h"
#include "top.h"

namespace hearth::tools {

Status run_why(const WhyOptions&) {
  return left_out("hearth why", "HEARTH_WITH_WHY");
}

Status run_top(const TopOptions&) {
  return left_out("hearth top", "HEARTH_WITH_WHY");
}

}  // namespace hearth::tools
