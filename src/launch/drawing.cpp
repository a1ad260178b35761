#include "launch/drawing.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

namespace hearth::launch {
namespace {

constexpr size_t kColumnsMax = 100;

using topo::MemoryNode;
using topo::Processor;

std::string amount(uint64_t mebibytes) {
  char text[32];
  const bool large = mebibytes >= 1024;
  std::snprintf(text, sizeof text, "%.3g %s", static_cast<double>(mebibytes) / (large ? 1024 : 1),
                large ? "GiB" : "MiB");
  return text;
}

std::string node_words(const MemoryNode& node) {
  std::string text = "memory node " + std::to_string(node.number);
  if (node.bytes > 0) text += ", " + amount(node.bytes >> 20);
  if (node.bandwidth_mib_s > 0) text += ", " + amount(static_cast<uint64_t>(node.bandwidth_mib_s)) + "/s";
  if (node.latency_ns > 0) text += ", " + std::to_string(node.latency_ns) + " ns";
  if (node.processors.empty()) text += ", without processors";
  return text;
}

// The content of a core's bracket: the ranks that may run on each of its hardware threads; printed once if
// all threads have the same.
std::string core_words(const std::vector<Processor>& core, std::span<const Binding> bindings) {
  std::vector<std::string> threads;
  for (const Processor& processor : core) {
    std::vector<int> ranks;
    for (size_t rank = 0; rank < bindings.size(); ++rank) {
      const std::vector<int>& mine = bindings[rank].processors;
      if (std::find(mine.begin(), mine.end(), processor.number) != mine.end())
        ranks.push_back(static_cast<int>(rank));
    }
    threads.push_back(ranks.empty() ? "." : topo::number_ranges(ranks));
  }
  if (std::adjacent_find(threads.begin(), threads.end(), std::not_equal_to<>()) == threads.end())
    return threads.front();
  std::string text;
  for (const std::string& thread : threads) text += (text.empty() ? "" : "/") + thread;
  return text;
}

// One package as lines without a frame.
class Package {
 public:
  Package(std::span<const Binding> bindings, size_t cell_width)
      : bindings_(bindings), cell_width_(cell_width) {}

  void add_node(const MemoryNode& node) { lines_.push_back(node_words(node)); }

  // Adds the cores under one third-level cache, or those without a known one.
  void add_cache(int number, const std::vector<std::vector<Processor>>& cores) {
    const std::string label =
        "  " + (number < 0 ? std::string("cores") : "l3 " + std::to_string(number)) + "  ";
    std::string line = label;
    for (const std::vector<Processor>& core : cores) {
      if (line.size() + cell_width_ + 2 > kColumnsMax - 4 && line.size() > label.size()) {
        lines_.push_back(line);
        line.assign(label.size(), ' ');
      }
      const std::string words = core_words(core, bindings_);
      line += "[" + std::string(cell_width_ - std::min(cell_width_, words.size()), ' ') + words + "]";
    }
    lines_.push_back(line);
  }

  std::string framed(const std::string& title) const {
    size_t width = title.size() + 3;
    for (const std::string& line : lines_) width = std::max(width, line.size());
    std::string text = "+- " + title + " " + std::string(width - title.size() - 1, '-') + "+\n";
    for (const std::string& line : lines_) {
      text += "| " + line + std::string(width - line.size(), ' ') + " |\n";
    }
    return text + "+" + std::string(width + 2, '-') + "+\n";
  }

 private:
  std::span<const Binding> bindings_;
  size_t cell_width_;
  std::vector<std::string> lines_;
};

using Cores = std::vector<std::vector<Processor>>;

// The processors grouped by core, in their order.
Cores cores_of(const topo::Machine& machine) {
  Cores cores;
  for (const Processor& processor : machine.processors()) {
    if (cores.empty() || cores.back().front().place.core != processor.place.core) cores.emplace_back();
    cores.back().push_back(processor);
  }
  return cores;
}

bool near_some(const MemoryNode& node, const Cores& cores) {
  return std::any_of(cores.begin(), cores.end(), [&](const std::vector<Processor>& core) {
    return std::binary_search(node.processors.begin(), node.processors.end(), core.front().number);
  });
}

// Adds the cores of one package. A memory node precedes the first caches near it.
void fill(Package& package, const Cores& cores, const std::vector<MemoryNode>& nodes,
          std::vector<bool>& drawn) {
  for (size_t first = 0; first < cores.size();) {
    const shm::RankPlace& place = cores[first].front().place;
    size_t last = first;
    while (last < cores.size() && cores[last].front().place.l3 == place.l3 &&
           cores[last].front().place.numa == place.numa) {
      ++last;
    }
    const Cores cache(cores.begin() + static_cast<ptrdiff_t>(first),
                      cores.begin() + static_cast<ptrdiff_t>(last));
    for (size_t node = 0; node < nodes.size(); ++node) {
      if (drawn[node] || !near_some(nodes[node], cache)) continue;
      package.add_node(nodes[node]);
      drawn[node] = true;
    }
    package.add_cache(place.l3, cache);
    first = last;
  }
}

}  // namespace

std::string draw(const topo::Machine& machine, std::span<const Binding> bindings) {
  const Cores cores = cores_of(machine);
  size_t cell_width = 1;
  for (const std::vector<Processor>& core : cores)
    cell_width = std::max(cell_width, core_words(core, bindings).size());
  std::vector<bool> drawn(machine.memory_nodes().size(), false);
  std::string text;
  for (size_t first = 0; first < cores.size();) {
    const int number = cores[first].front().place.package;
    size_t last = first;
    while (last < cores.size() && cores[last].front().place.package == number) ++last;
    Package package(bindings, cell_width);
    fill(package,
         Cores(cores.begin() + static_cast<ptrdiff_t>(first), cores.begin() + static_cast<ptrdiff_t>(last)),
         machine.memory_nodes(), drawn);
    text += package.framed(number < 0 ? "machine" : "package " + std::to_string(number));
    first = last;
  }
  for (size_t node = 0; node < drawn.size(); ++node) {
    if (!drawn[node]) text += node_words(machine.memory_nodes()[node]) + ", near none of these cores\n";
  }
  std::vector<int> loose;
  for (size_t rank = 0; rank < bindings.size(); ++rank) {
    if (bindings[rank].processors.empty()) loose.push_back(static_cast<int>(rank));
  }
  if (!loose.empty())
    text += "anywhere: rank" + std::string(loose.size() > 1 ? "s " : " ") + topo::number_ranges(loose) + "\n";
  return text;
}

}  // namespace hearth::launch
