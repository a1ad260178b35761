#include "coll/hierarchy.h"

#include <algorithm>
#include <numeric>

namespace hearth::coll {
namespace {

using shm::RankPlace;

/// Hardware that ranks may share, closest first.
constexpr int32_t RankPlace::*kShared[] = {&RankPlace::l3, &RankPlace::numa, &RankPlace::package};
/// Minimum average size of the groups of a level: smaller groups cost more than they save.
constexpr size_t kGroupRanksMin = 4;

/// Cuts the ranks into as few groups as the bound allows, whose sizes differ by at most one.
void cut(std::span<const int> ranks, int group_max, std::vector<std::vector<int>>& groups) {
  const size_t bound = static_cast<size_t>(group_max);
  const size_t pieces = (ranks.size() + bound - 1) / bound;
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t begin = ranks.size() * piece / pieces;
    const size_t end = ranks.size() * (piece + 1) / pieces;
    groups.emplace_back(ranks.begin() + static_cast<ptrdiff_t>(begin),
                        ranks.begin() + static_cast<ptrdiff_t>(end));
  }
}

}  // namespace

int Hierarchy::group_ranks_max(int ranks) {
  constexpr int kMost = 16;
  int group = 2;
  while (group < kMost && group * group < ranks) group *= 2;
  return group;
}

Hierarchy::Hierarchy(int ranks, int self) : self_(self), group_max_(group_ranks_max(ranks)), leaders_(1) {
  leaders_[0].resize(static_cast<size_t>(ranks));
  std::iota(leaders_[0].begin(), leaders_[0].end(), 0);
}

std::vector<int> Hierarchy::add_level(const Groups& groups) {
  std::vector<int> now;
  std::vector<int> leader_of(leaders_[0].size());
  size_t width = 0;
  for (const std::vector<int>& group : groups) {
    const auto own = std::find(group.begin(), group.end(), self_);
    if (own != group.end()) groups_.push_back({group, static_cast<size_t>(own - group.begin())});
    for (const int member : group) leader_of[static_cast<size_t>(member)] = group[0];
    now.push_back(group[0]);
    width = std::max(width, group.size());
  }
  if (lowest_.empty()) lowest_ = groups;
  widths_.push_back(width);
  // The top group has no leader.
  if (groups.size() == 1) return now;
  std::vector<int> next = leaders_.back();
  for (int& leader : next) leader = leader_of[static_cast<size_t>(leader)];
  leaders_.push_back(std::move(next));
  return now;
}

void Hierarchy::finish(std::vector<int> leaders) {
  while (leaders.size() > static_cast<size_t>(group_max_)) {
    Groups groups;
    cut(leaders, group_max_, groups);
    leaders = add_level(groups);
  }
  add_level({leaders});
}

Hierarchy Hierarchy::by_rank(int ranks, int self) {
  Hierarchy made(ranks, self);
  made.finish(made.leaders_[0]);
  return made;
}

Hierarchy Hierarchy::by_place(std::span<const RankPlace> places, int self) {
  Hierarchy made(static_cast<int>(places.size()), self);
  std::vector<int> leaders = made.leaders_[0];
  for (const auto shared : kShared) {
    const auto number = [&](int rank) { return places[static_cast<size_t>(rank)].*shared; };
    if (std::ranges::any_of(leaders, [&](int rank) { return number(rank) < 0; })) continue;
    std::stable_sort(leaders.begin(), leaders.end(),
                     [&](int one, int other) { return number(one) < number(other); });
    Groups groups;
    size_t parts = 0;
    for (size_t begin = 0; begin < leaders.size(); ++parts) {
      size_t end = begin;
      while (end < leaders.size() && number(leaders[end]) == number(leaders[begin])) ++end;
      cut(std::span(leaders).subspan(begin, end - begin), made.group_max_, groups);
      begin = end;
    }
    if (parts == 1 || groups.size() * kGroupRanksMin > leaders.size()) continue;
    leaders = made.add_level(groups);
  }
  made.finish(std::move(leaders));
  return made;
}

int Hierarchy::publisher(size_t level, int root) const {
  const bool top = static_cast<int>(level) == levels() - 1;
  const int above = static_cast<int>(level) + 1;
  if (top || delegate(above, root) == delegate(above, self_)) return delegate(static_cast<int>(level), root);
  return groups_[level].members[0];
}

int Hierarchy::read_by_self(int root) const {
  for (size_t level = 0; level < groups_.size(); ++level) {
    const int speaks = publisher(level, root);
    if (speaks != self_) return speaks;
  }
  return -1;
}

std::string Hierarchy::text() const {
  std::string text;
  for (const size_t width : widths_) text += (text.empty() ? "" : " x ") + std::to_string(width);
  return text;
}

}  // namespace hearth::coll
