#include "base/launcher_rank.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace hearth {

const char* rank_from_launcher() {
  for (const char* variable : {"HEARTH_RANK", "PMIX_RANK", "PMI_RANK", "PMI_ID", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(variable); rank != nullptr) return rank;
  }
  return nullptr;
}

bool is_first_rank() {
  const char* rank = rank_from_launcher();
  return rank == nullptr || std::strcmp(rank, "0") == 0;
}

}  // namespace hearth
