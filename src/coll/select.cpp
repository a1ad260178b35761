#include "coll/select.h"

#include <array>
#include <cstdio>
#include <iterator>
#include <string>

#include "base/param.h"

namespace hearth::coll {
namespace {

constexpr auto kCollectives = static_cast<size_t>(Collective::count_);
constexpr const char* kNames[] = {"allgather", "allreduce", "alltoall",       "bcast",
                                  "gather",    "reduce",    "reduce_scatter", "scatter"};
static_assert(std::size(kNames) == kCollectives);

struct Known {
  Collective collective;
  const char* name;
};
#define HEARTH_ALLGATHER(name, right, preferred) {Collective::allgather, #name},
#define HEARTH_ALLREDUCE(name, right, preferred) {Collective::allreduce, #name},
#define HEARTH_ALLTOALL(name, right, preferred) {Collective::alltoall, #name},
#define HEARTH_BCAST(name, right, preferred) {Collective::bcast, #name},
#define HEARTH_GATHER(name, right, preferred) {Collective::gather, #name},
#define HEARTH_REDUCE(name, right, preferred) {Collective::reduce, #name},
#define HEARTH_REDUCE_SCATTER(name, right, preferred) {Collective::reduce_scatter, #name},
#define HEARTH_SCATTER(name, right, preferred) {Collective::scatter, #name},
constexpr Known kKnown[] = {
#include "coll/algorithms.def"
};

/// By collective: a name from kKnown, or nullptr.
using Wishes = std::array<const char*, kCollectives>;

bool enter(Wishes& wishes, const std::string& collective, const std::string& name) {
  for (const Known& known : kKnown) {
    const auto index = static_cast<size_t>(known.collective);
    if (collective != kNames[index] || name != known.name) continue;
    wishes[index] = known.name;
    return true;
  }
  return false;
}

/// "bcast=chain,allreduce=ring"
Wishes read_wishes() {
  Wishes wishes = {};
  const std::string& text = param::get_text(param::Id::coll_algorithms);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string entry = text.substr(begin, end - begin);
    const size_t equal = entry.find('=');
    if (equal == std::string::npos || !enter(wishes, entry.substr(0, equal), entry.substr(equal + 1))) {
      std::fprintf(
          stderr,
          "hearth: HEARTH_COLL_ALGORITHMS: \"%s\" is not collective=algorithm of src/coll/algorithms.def; "
          "ignored\n",
          entry.c_str());
    }
    begin = end + 1;
  }
  return wishes;
}

}  // namespace

const char* wished_algorithm(Collective collective) {
  static const Wishes wishes = read_wishes();
  return wishes[static_cast<size_t>(collective)];
}

}  // namespace hearth::coll
