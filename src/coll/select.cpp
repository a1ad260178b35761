#include "coll/select.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/immortal.h"
#include "base/launcher_rank.h"
#include "base/param.h"
#include "mpi.h"
#include "shm/layout.h"
#include "tune/threshold.h"

namespace hearth::coll {
namespace {

constexpr auto kCollectives = static_cast<size_t>(Collective::count_);
constexpr const char* kNames[] = {"allgather", "allreduce", "alltoall",       "barrier", "bcast",
                                  "gather",    "reduce",    "reduce_scatter", "scan",    "scatter"};
static_assert(std::size(kNames) == kCollectives);

/// A row of algorithms.def without its function.
struct Known {
  Collective collective;
  const char* name;
  bool (*right)(const Shape& shape);
  bool (*preferred)(const Shape& shape);
};
#define HEARTH_KNOWN(collective, name, is_right, is_preferred)                                  \
  {Collective::collective, #name, []([[maybe_unused]] const Shape& shape) { return is_right; }, \
   []([[maybe_unused]] const Shape& shape) { return is_preferred; }},
#define HEARTH_ALLGATHER(name, right, preferred) HEARTH_KNOWN(allgather, name, right, preferred)
#define HEARTH_ALLREDUCE(name, right, preferred) HEARTH_KNOWN(allreduce, name, right, preferred)
#define HEARTH_ALLTOALL(name, right, preferred) HEARTH_KNOWN(alltoall, name, right, preferred)
#define HEARTH_BARRIER(name, right, preferred) HEARTH_KNOWN(barrier, name, right, preferred)
#define HEARTH_BCAST(name, right, preferred) HEARTH_KNOWN(bcast, name, right, preferred)
#define HEARTH_GATHER(name, right, preferred) HEARTH_KNOWN(gather, name, right, preferred)
#define HEARTH_REDUCE(name, right, preferred) HEARTH_KNOWN(reduce, name, right, preferred)
#define HEARTH_REDUCE_SCATTER(name, right, preferred) HEARTH_KNOWN(reduce_scatter, name, right, preferred)
#define HEARTH_SCAN(name, right, preferred) HEARTH_KNOWN(scan, name, right, preferred)
#define HEARTH_SCATTER(name, right, preferred) HEARTH_KNOWN(scatter, name, right, preferred)
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

void append(std::string& list, const char* name) {
  list += (list.empty() ? "" : ", ") + std::string(name);
}

/// "flat, tree, ..."; "" if there is no such collective.
std::string algorithms_of(const std::string& collective) {
  std::string list;
  for (const Known& known : kKnown) {
    if (collective == kNames[static_cast<size_t>(known.collective)]) append(list, known.name);
  }
  return list;
}

/// The reason why an entry is invalid, and the valid ones.
std::string refusal_of(const std::string& entry) {
  const std::string quoted = '"' + entry + '"';
  const size_t equal = entry.find('=');
  if (equal == std::string::npos) {
    return quoted + " is not of the form collective=algorithm, such as bcast=chain,allreduce=ring";
  }
  const std::string collective = entry.substr(0, equal);
  const std::string algorithms = algorithms_of(collective);
  if (!algorithms.empty()) {
    return quoted + " names no algorithm of " + collective + "; there are " + algorithms;
  }
  std::string collectives;
  for (const char* name : kNames) append(collectives, name);
  return quoted + " names no collective; there are " + collectives;
}

/// "bcast=chain,allreduce=ring"; calls `refuse` with the reason for each invalid entry.
template <class Refuse>
Wishes read_wishes(const std::string& text, const Refuse& refuse) {
  Wishes wishes = {};
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string entry = text.substr(begin, end - begin);
    const size_t equal = entry.find('=');
    if (equal == std::string::npos || !enter(wishes, entry.substr(0, equal), entry.substr(equal + 1)))
      refuse(refusal_of(entry));
    begin = end + 1;
  }
  return wishes;
}

Wishes wishes_of_parameter() {
  return read_wishes(param::get_text(param::Id::coll_algorithms), [](const std::string& reason) {
    if (!is_first_rank()) return;
    std::fprintf(stderr, "hearth: HEARTH_COLL_ALGORITHMS: %s. The entry is ignored\n", reason.c_str());
  });
}

Status read_hint(const std::string& text, Wishes& wishes) {
  Status status;
  wishes = read_wishes(text, [&status](const std::string& reason) {
    status = fail(MPI_ERR_INFO_VALUE, "%s: %s", kAlgorithmsHint, reason.c_str());
  });
  return status;
}

/// The communicators with such hints, by context.
using Hinted = std::vector<std::pair<uint32_t, Wishes>>;
constinit Immortal<Hinted> hinted;

}  // namespace

const char* wished_algorithm(Collective collective, uint32_t context) {
  static const Wishes wishes = wishes_of_parameter();
  const char* wished = wishes[static_cast<size_t>(collective)];
  if (__builtin_expect(wished != nullptr || hinted.value.empty(), 1)) return wished;
  const auto found = std::ranges::find(hinted.value, context, &Hinted::value_type::first);
  return found == hinted.value.end() ? nullptr : found->second[static_cast<size_t>(collective)];
}

Status check_wishes(const std::string& text) {
  Wishes wishes;
  return read_hint(text, wishes);
}

Status set_wishes(uint32_t context, const std::string& text) {
  Wishes wishes;
  HEARTH_TRY(read_hint(text, wishes));
  std::erase_if(hinted.value, [context](const auto& hint) { return hint.first == context; });
  if (!text.empty()) hinted.value.emplace_back(context, wishes);
  return {};
}

int64_t published_bytes_max(Collective collective, bool has_overflow_buffers, bool more_ranks_than_processors,
                            int64_t whole_bytes_max) {
  if (!has_overflow_buffers) return shm::kSlotPayloadBytes;
  constexpr int64_t kWithOwnProcessor = 2048;
  const int64_t longest = more_ranks_than_processors ? shm::kOverflowPayloadBytes : kWithOwnProcessor;
  if (collective != Collective::allreduce) return longest;
  return std::clamp(whole_bytes_max, shm::kSlotPayloadBytes, longest);
}

int64_t whole_bytes_max(int ranks, bool more_ranks_than_processors) {
  constexpr param::Id kLimit = param::Id::coll_whole_bytes_max;
  constexpr uint64_t kRanksOfDefault = 4;
  uint64_t bytes = more_ranks_than_processors ? param::get_bytes(kLimit) : tune::limit(kLimit);
  if (!more_ranks_than_processors && std::string_view(tune::limit_source(kLimit)) == "default")
    bytes = bytes * kRanksOfDefault / std::max(kRanksOfDefault, static_cast<uint64_t>(ranks));
  return static_cast<int64_t>(std::min(bytes, uint64_t{INT64_MAX}));
}

const char* name_of(Collective collective) {
  const auto number = static_cast<size_t>(collective);
  return number < std::size(kNames) ? kNames[number] : "an unknown collective";
}

const char* algorithm_for(Collective collective, const Shape& shape) {
  const auto belongs = [collective](const Known& row) { return row.collective == collective; };
  const Known* const first = std::find_if(std::begin(kKnown), std::end(kKnown), belongs);
  const Known* const last = std::find_if_not(first, std::end(kKnown), belongs);
  return choose(collective, first, static_cast<size_t>(last - first), shape).name;
}

}  // namespace hearth::coll
