#include "abi/tool.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hearth::abi {

const ToolCategory tool_categories[] = {
    {"p2p", "point-to-point messages", MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_SCOPE_LOCAL},
    {"coll", "collective operations", MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_SCOPE_ALL_EQ},
    {"shm", "memory that the ranks of a job share", MPI_T_VERBOSITY_TUNER_DETAIL, MPI_T_SCOPE_CONSTANT},
    {"wait", "waiting: spinning, offering the processor, sleeping", MPI_T_VERBOSITY_TUNER_DETAIL,
     MPI_T_SCOPE_LOCAL},
    {"launch", "starting and ending jobs", MPI_T_VERBOSITY_USER_DETAIL, MPI_T_SCOPE_CONSTANT},
    // Last: variables with no other category's prefix.
    {"general", "everything else", MPI_T_VERBOSITY_USER_BASIC, MPI_T_SCOPE_LOCAL},
};
const int tool_category_count = static_cast<int>(std::size(tool_categories));

int category_of(const char* variable_name) {
  const int general = tool_category_count - 1;
  for (int i = 0; i < general; ++i) {
    const size_t length = std::strlen(tool_categories[i].name);
    if (std::strncmp(variable_name, tool_categories[i].name, length) == 0 && variable_name[length] == '_') {
      return i;
    }
  }
  return general;
}

void put_text(const char* text, char* to, int* length) {
  if (length == nullptr) return;
  const int needed = static_cast<int>(std::strlen(text)) + 1;
  if (to == nullptr || *length <= 0) {
    *length = needed;
    return;
  }
  *length = std::min(*length, needed);
  std::memcpy(to, text, static_cast<size_t>(*length) - 1);
  to[*length - 1] = 0;
}

}  // namespace hearth::abi
