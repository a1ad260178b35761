#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hearth {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "hearth: internal check failed at %s:%d: %s. This is a defect of the library.\n", file,
               line, condition);
  std::abort();
}

}  // namespace hearth
