#include "base/first_rank.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace hearth {

bool is_first_rank() {
  for (const char* variable : {"HEARTH_RANK", "PMIX_RANK", "PMI_RANK", "PMI_ID"}) {
    if (const char* rank = std::getenv(variable); rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

}  // namespace hearth
