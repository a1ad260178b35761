#include "abi/simulated_nodes.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/param.h"

namespace hearth::abi {

void simulate_nodes(launch::Bootstrap& job) {
  const std::string& text = param::get_text(param::Id::simulated_nodes);
  if (text.empty() || !job.place_of.empty()) return;
  int machines = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, machines);
  const std::string_view rest(read.ptr, static_cast<size_t>(end - read.ptr));
  const bool cyclic = rest == ":cyclic";
  if (machines < 1 || (!cyclic && !rest.empty())) {
    std::fprintf(stderr,
                 "hearth: HEARTH_SIMULATED_NODES: \"%s\" is not a number, or one with :cyclic behind it; "
                 "ignored\n",
                 text.c_str());
    return;
  }
  machines = std::min(machines, job.size);
  for (int rank = 0; rank < job.size; ++rank) {
    const auto block = static_cast<int>(int64_t{rank} * machines / job.size);
    job.node_of[static_cast<size_t>(rank)] = cyclic ? rank % machines : block;
  }
}

}  // namespace hearth::abi
