#include "collective_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/os_wait.h"
#include "base/param.h"
#include "coll/hierarchy.h"
#include "shm/layout.h"
#include "shm/segment.h"
#include "tune/threshold.h"

namespace hearth::tools {
namespace {

using coll::Collective;
using coll::Hierarchy;
using param::Id;

bool shares_processors(int ranks) {
  return ranks > os::usable_processors();
}

bool has_region(int ranks) {
  return ranks > 1 && param::get_count(param::Id::coll_regions) > 0;
}

/// The largest payload of a rank's slot.
int64_t said_bytes(Collective collective, int ranks, int64_t bytes) {
  const bool to_each = collective == Collective::scatter || collective == Collective::alltoall ||
                       collective == Collective::reduce_scatter;
  return to_each ? bytes * ranks : bytes;
}

bool fits_groups(Collective collective, int ranks, int64_t bytes) {
  if (ranks < 3) return false;
  switch (collective) {
    case Collective::barrier:
    case Collective::bcast:
    case Collective::reduce:
    case Collective::allreduce:
      return bytes <= shm::kSlotPayloadBytes;
    case Collective::allgather:
      return bytes <= shm::kSlotPayloadBytes / Hierarchy::group_ranks_max(ranks);
    default:
      return false;
  }
}

bool is_wished(Collective collective, const char* algorithm) {
  const char* wished = coll::wished_algorithm(collective, UINT32_MAX);
  return wished != nullptr && std::string(wished) == algorithm;
}

/// "coll_flat_ranks_max = 32, default".
std::string limit_text(Id limit) {
  const uint64_t value = tune::limit(limit);
  return fmt::format("{} = {}, {}", tune::name_of(limit),
                     value == tune::kNever ? "never" : std::to_string(value), tune::limit_source(limit));
}

std::string whole_limit_text(int ranks) {
  const Id limit = Id::coll_whole_bytes_max;
  const bool left_out = shares_processors(ranks) && std::string(tune::limit_source(limit)) == "profile";
  const int64_t in_force = coll::whole_bytes_max(ranks, shares_processors(ranks));
  if (!left_out && static_cast<uint64_t>(in_force) < tune::limit(limit))
    return fmt::format("{}; {} with {} ranks", limit_text(limit), in_force, ranks);
  if (!left_out) return limit_text(limit);
  return fmt::format("{} = {}, default; the profile's is for ranks with a processor each",
                     tune::name_of(limit), param::get_bytes(limit));
}

std::string why(Collective collective, const std::string& algorithm, int ranks) {
  if (is_wished(collective, algorithm.c_str())) return "HEARTH_COLL_ALGORITHMS names it";
  if (algorithm == "flat") {
    return shares_processors(ranks) ? "fits a slot; ranks share processors, and each has to run once only"
                                    : "fits a slot, and few enough ranks to read one another's: " +
                                          limit_text(Id::coll_flat_ranks_max);
  }
  if (algorithm == "tree") {
    return fmt::format("fits a slot; this number of ranks exchanges slots in groups of {}: {}",
                       Hierarchy::by_rank(ranks, 0).text(), limit_text(Id::coll_flat_ranks_max));
  }
  if (collective == Collective::allreduce && algorithm.starts_with("pipeline")) {
    return fmt::format("{}: {}",
                       algorithm == "pipeline_whole" ? "short enough that every rank reduces all of it"
                                                     : "long enough that each reduces a share",
                       whole_limit_text(ranks));
  }
  if (algorithm.starts_with("pipeline")) {
    return "through memory that stays in the caches, all ranks at once; what lies in the arena is read there "
           "from coll_expose_bytes_min on";
  }
  if (!has_region(ranks)) return "messages: one rank, or HEARTH_COLL_REGIONS is 0";
  return "messages: neither slots nor pipeline buffers serve this number of ranks at this length";
}

constexpr int64_t kLongest = int64_t{64} << 20;

}  // namespace

std::string algorithm_of(Collective collective, int ranks, int64_t bytes, int machines) {
  const bool scatters = collective == Collective::reduce_scatter;
  const int64_t vector_bytes = scatters ? bytes * ranks : bytes;
  const int64_t said = said_bytes(collective, ranks, bytes);
  const bool pays =
      coll::flat_slots_pay(ranks, tune::limit(Id::coll_flat_ranks_max), shares_processors(ranks));
  const auto allowed = [&](const char* algorithm, bool by_itself) {
    const bool wished = coll::wished_algorithm(collective, UINT32_MAX) != nullptr;
    return wished ? is_wished(collective, algorithm) : by_itself;
  };
  const bool same_bits = param::get_flag(param::Id::coll_same_bits);
  const bool one_order =
      same_bits && (collective == Collective::reduce || collective == Collective::allreduce);
  if (machines > 1) {
    // The ranks of each machine form a group; across machines there are only messages.
    return coll::algorithm_for(collective, {.size = ranks,
                                            .bytes = vector_bytes,
                                            .count = vector_bytes / static_cast<int64_t>(sizeof(double)),
                                            .same_bits = same_bits,
                                            .machines = ranks > machines ? machines : 1});
  }
  const int64_t whole_bytes_max = coll::whole_bytes_max(ranks, shares_processors(ranks));
  const uint64_t pipeline_bytes = shm::SegmentPlan::for_ranks(static_cast<uint32_t>(ranks)).pipeline_bytes;
  const int64_t longest =
      coll::published_bytes_max(collective, pipeline_bytes != 0, shares_processors(ranks), whole_bytes_max);
  return coll::algorithm_for(
      collective, {.size = ranks,
                   .bytes = vector_bytes,
                   .count = vector_bytes / static_cast<int64_t>(sizeof(double)),
                   .commutative = true,
                   .pipeline = has_region(ranks) && coll::pipeline_suffices(ranks, pipeline_bytes),
                   .flat = has_region(ranks) && said <= longest && allowed("flat", pays || one_order),
                   .same_bits = same_bits,
                   .tree = has_region(ranks) && fits_groups(collective, ranks, bytes) && !one_order &&
                           allowed("tree", !pays),
                   .whole_bytes_max = whole_bytes_max});
}

std::vector<CollectiveChoice> collective_choices(int ranks) {
  std::vector<CollectiveChoice> choices;
  for (size_t i = 0; i < static_cast<size_t>(Collective::count_); ++i) {
    const auto collective = static_cast<Collective>(i);
    const int64_t first = collective == Collective::barrier ? 0 : 1;
    const int64_t last = collective == Collective::barrier ? 0 : kLongest;
    int64_t from = first;
    while (from <= last) {
      const std::string algorithm = algorithm_of(collective, ranks, from);
      choices.push_back({coll::name_of(collective), from, algorithm, why(collective, algorithm, ranks)});
      // Doubles the length while the algorithm stays the same, then bisects to the boundary.
      int64_t same = from;
      int64_t other = from;
      do {
        same = other;
        other = std::max<int64_t>(2 * same, 1);
      } while (other <= last && algorithm_of(collective, ranks, other) == algorithm);
      if (other > last) break;
      while (other - same > 1) {
        const int64_t middle = same + (other - same) / 2;
        (algorithm_of(collective, ranks, middle) == algorithm ? same : other) = middle;
      }
      from = other;
    }
  }
  return choices;
}

}  // namespace hearth::tools
