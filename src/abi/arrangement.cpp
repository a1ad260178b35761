#include "abi/arrangement.h"

#include <algorithm>
#include <string>
#include <utility>

#include "abi/comm_making.h"
#include "abi/requests.h"
#include "abi/runtime.h"
#include "base/os_machine.h"
#include "base/param.h"
#include "coll/coll.h"
#include "coll/distances.h"

namespace hearth::abi {
namespace {

// With two processes, all mappings cost the same.
constexpr int kArrangedMin = 3;

std::span<const objects::PeerIndex> peers_of(const Comm& comm) {
  return {comm.peers, static_cast<size_t>(comm.size)};
}

topo::Distances reported_distances(const Comm& comm) {
  std::vector<shm::RankPlace> places;
  for (const objects::PeerIndex peer : peers_of(comm)) places.push_back(bound_place_of(peer));
  topo::Distances distances = topo::Distances::between(places);
  for (int one = 0; one < comm.size; ++one) {
    for (int other = 0; other < one; ++other) {
      if (node_of(comm.peers[one]) == node_of(comm.peers[other])) continue;
      distances.set(one, other, topo::distance_of(topo::Relation::network));
    }
  }
  return distances;
}

enum class Wish { where_apart, always, never };

Wish read_wish() {
  const std::string& text = param::get_text(param::Id::reorder_measured);
  if (text == "always") return Wish::always;
  return text == "never" ? Wish::never : Wish::where_apart;
}

// Published by each rank before a measurement: one of these, or the processors on which it may run.
constexpr int kInsists = -1;
constexpr int kRefuses = -2;

Words say_where() {
  static const Wish wish = read_wish();
  // On several machines, the reported topology suffices.
  if (!runtime().node->has_all()) return {kRefuses};
  if (wish == Wish::always) return {kInsists};
  const shm::JobHeader& job = runtime().job.segment.job();
  if (wish == Wish::never || job.rank_count > job.usable_processors) return {kRefuses};
  Words processors = os::allowed_processors();
  return processors.empty() ? Words{kRefuses} : processors;
}

/// True if no rank refuses and no two ranks may run on the same processor: time-shared ranks would distort
/// the times.
bool can_measure(Words said) {
  std::sort(said.begin(), said.end());
  if (said.front() == kRefuses) return false;
  const auto processors = std::find_if(said.begin(), said.end(), [](int word) { return word >= 0; });
  return std::adjacent_find(processors, said.end()) == said.end();
}

/// Measures the pairs of this communicator that have no time yet. The distances are computed from the
/// gathered times, which are equal on all ranks. Each rank's cached times may differ if threads measured at
/// the same time.
Status measure(Comm& comm, topo::MeasuredTimes& known, topo::Distances& distances) {
  const auto size = static_cast<size_t>(comm.size);
  const auto own = static_cast<size_t>(comm.rank);
  std::vector<int> times_ns(size * size);  // a row for each rank
  for (size_t rank = 0; rank < size; ++rank) {
    times_ns[own * size + rank] = known.between(comm.peers[own], comm.peers[rank]);
  }
  HEARTH_TRY(coll::run<coll::measure_times>(comm, std::span<int>(times_ns).subspan(own * size, size)));
  datatype::Type& bytes = byte_type();
  HEARTH_TRY(coll::run<coll::allgather>(comm, MPI_IN_PLACE, 0, bytes, times_ns.data(),
                                        static_cast<Count>(size * sizeof(int)), bytes));
  for (size_t one = 0; one < size; ++one) {
    for (size_t other = one + 1; other < size; ++other) {
      known.enter(comm.peers[one], comm.peers[other], times_ns[one * size + other]);
    }
  }
  distances = topo::Distances::measured(comm.size, times_ns);
  return {};
}

}  // namespace

Status agree_on_distances(Comm& comm, int reorder, topo::Distances& distances) {
  distances = topo::Distances(comm.size);
  if (reorder == 0 || comm.size < kArrangedMin) return {};
  Words all;
  std::vector<int> ends;
  HEARTH_TRY(gather_words(comm, say_where(), all, ends));
  if (!can_measure(std::move(all))) {
    distances = reported_distances(comm);
    return {};
  }
  return measure(comm, runtime().measured_times, distances);
}

topo::Distances known_distances(const Comm& comm) {
  const topo::MeasuredTimes& known = runtime().measured_times;
  return known.knows_all(peers_of(comm)) ? known.distances(peers_of(comm)) : reported_distances(comm);
}

std::vector<int> arrange(int count, std::span<const topo::Traffic> traffic,
                         const topo::Distances& distances) {
  return topo::arrange(traffic, distances.first(count));
}

Status make_arranged(const Comm& parent, OwnedAllocation owned, const std::vector<int>& ranks, Comm*& comm) {
  if (std::find(ranks.begin(), ranks.end(), parent.rank) == ranks.end()) return {};
  Peers peers;
  for (const int rank : ranks) peers.push_back(parent.peers[rank]);
  return make_intracomm(parent, std::move(owned), std::move(peers), comm);
}

}  // namespace hearth::abi
