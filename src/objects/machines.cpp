#include "objects/machines.h"

#include <algorithm>
#include <functional>

namespace hearth::objects {

std::unique_ptr<const Machines> divide(const std::vector<PeerIndex>& peers, int rank,
                                       std::span<const int> node_of) {
  const auto node = [&](PeerIndex peer) { return node_of[static_cast<size_t>(peer)]; };
  const auto elsewhere = [&](PeerIndex peer) { return node(peer) != node(peers[0]); };
  if (std::none_of(peers.begin(), peers.end(), elsewhere)) return nullptr;
  auto made = std::make_unique<Machines>();
  std::vector<int> machine_at(static_cast<size_t>(*std::ranges::max_element(node_of)) + 1, -1);
  std::vector<int> sizes;
  for (const PeerIndex peer : peers) {
    int& machine = machine_at[static_cast<size_t>(node(peer))];
    if (machine < 0) {
      machine = static_cast<int>(sizes.size());
      sizes.push_back(0);
    }
    ++sizes[static_cast<size_t>(machine)];
    made->machine_of.push_back(machine);
  }
  made->begins = {0};
  for (const int size : sizes) made->begins.push_back(made->begins.back() + size);
  made->equal = std::ranges::adjacent_find(sizes, std::not_equal_to<>()) == sizes.end();
  made->ranks.resize(peers.size());
  made->peers.resize(peers.size());
  std::vector<int> next(made->begins.begin(), made->begins.end() - 1);
  for (size_t i = 0; i < peers.size(); ++i) {
    const int machine = made->machine_of[i];
    const auto at = static_cast<size_t>(next[static_cast<size_t>(machine)]++);
    made->ranks[at] = static_cast<int>(i);
    made->peers[at] = peers[i];
    if (static_cast<int>(i) != rank) continue;
    made->own = machine;
    made->place = static_cast<int>(at) - made->begin(machine);
  }
  made->in_order = std::ranges::is_sorted(made->ranks);
  return made;
}

}  // namespace hearth::objects
