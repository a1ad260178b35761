// MPI 5.0 section 7.3: groups of processes. The set operations are in src/objects/group.h.
#include <utility>

#include "abi/comm_making.h"
#include "abi/handle.h"
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"

namespace hearth::mpi {
namespace {

using objects::Group;
using objects::Peers;

/// Makes a user's group from the same session as `origin`; MPI_GROUP_EMPTY if there are no members.
Status publish(Peers peers, const Group& origin, Group*& group) {
  if (peers.empty()) {
    group = abi::find<Group>(MPI_GROUP_EMPTY);
    return {};
  }
  return abi::make_group(std::move(peers), origin.session, group);
}

}  // namespace

Status group_size(Group& group, int& size) {
  size = group.size();
  return {};
}

Status group_rank(Group& group, int& rank) {
  rank = group.rank;
  return {};
}

Status group_translate_ranks(Group& group1, int n, const int* ranks1, Group& group2, int* ranks2) {
  for (int i = 0; i < n; ++i) {
    if (ranks1[i] == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks1[i] < 0 || ranks1[i] >= group1.size()) {
      return fail(MPI_ERR_RANK, "ranks1[%d] is %d, but the ranks of group1 are 0 to %d", i, ranks1[i],
                  group1.size() - 1);
    }
    ranks2[i] = group2.rank_of(group1.peers[static_cast<size_t>(ranks1[i])]);
  }
  return {};
}

Status group_compare(Group& group1, Group& group2, int& result) {
  result = objects::compare(group1, group2);
  return {};
}

Status group_union(Group& group1, Group& group2, Group*& newgroup) {
  return publish(objects::unite(group1, group2), group1, newgroup);
}

Status group_intersection(Group& group1, Group& group2, Group*& newgroup) {
  return publish(objects::intersect(group1, group2), group1, newgroup);
}

Status group_difference(Group& group1, Group& group2, Group*& newgroup) {
  return publish(objects::subtract(group1, group2), group1, newgroup);
}

Status group_incl(Group& group, int n, const int* ranks, Group*& newgroup) {
  Peers peers;
  HEARTH_TRY(objects::include(group, n, ranks, peers));
  return publish(std::move(peers), group, newgroup);
}

Status group_excl(Group& group, int n, const int* ranks, Group*& newgroup) {
  Peers peers;
  HEARTH_TRY(objects::exclude(group, n, ranks, peers));
  return publish(std::move(peers), group, newgroup);
}

Status group_range_incl(Group& group, int n, int ranges[][3], Group*& newgroup) {
  if (n > 0 && ranges == nullptr) return fail(MPI_ERR_ARG, "ranges is a null pointer");
  std::vector<int> ranks;
  HEARTH_TRY(objects::expand(n, ranges, ranks));
  return group_incl(group, static_cast<int>(ranks.size()), ranks.data(), newgroup);
}

Status group_range_excl(Group& group, int n, int ranges[][3], Group*& newgroup) {
  if (n > 0 && ranges == nullptr) return fail(MPI_ERR_ARG, "ranges is a null pointer");
  std::vector<int> ranks;
  HEARTH_TRY(objects::expand(n, ranges, ranks));
  return group_excl(group, static_cast<int>(ranks.size()), ranks.data(), newgroup);
}

Status group_free(Group*& group) {
  // Calls return MPI_GROUP_EMPTY for empty groups, so programs free it like any other group.
  if (group->predefined == 0) objects::free_handle(*group);
  group = nullptr;
  return {};
}

}  // namespace hearth::mpi
