#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/os_memory.h"
#include "base/param.h"
#include "facts.h"
#include "topo/memory_kind.h"

namespace hearth::tools {
namespace {

std::string number_or(int64_t number, const char* unit) {
  return number > 0 ? fmt::format("{} {}", number, unit) : "not told";
}

std::string list_of(const std::vector<int>& numbers) {
  std::vector<topo::Processor> processors;
  for (const int number : numbers) processors.push_back({number, {}});
  return numbers.empty() ? "none" : topo::processor_list(processors);
}

Json node_rows(const topo::Machine& machine) {
  Json rows = Json::array();
  for (const topo::MemoryNode& node : machine.memory_nodes()) {
    rows.push_back({{"node", node.number},
                    {"size_bytes", node.bytes},
                    {"processors_near_it", list_of(node.processors)},
                    {"bandwidth", number_or(node.bandwidth_mib_s, "MiB/s")},
                    {"latency", number_or(node.latency_ns, "ns")}});
  }
  return rows;
}

std::string node_text(int node) {
  return node < 0 ? "any" : fmt::format("node {}", node);
}

/// One row for all processors whose ranks have the same memory placement.
Json choice_rows(const topo::Machine& machine) {
  std::map<std::vector<int>, std::vector<topo::Processor>> groups;
  for (const topo::Processor& processor : machine.processors()) {
    shm::RankMemory memory = topo::memory_near(machine.memory_nodes(), std::span(&processor.number, 1));
    if (!topo::choose_nodes(memory).ok()) return {{{"problem", last_failure_text()}}};
    groups[{memory.rings, memory.buffers, memory.arena}].push_back(processor);
  }
  Json rows = Json::array();
  for (const auto& [nodes, processors] : groups) {
    rows.push_back({{"ranks_on_processors", topo::processor_list(processors)},
                    {"rings", node_text(nodes[0])},
                    {"bounce_buffers", node_text(nodes[1])},
                    {"arena", node_text(nodes[2])}});
  }
  return rows;
}

std::string reason_of(param::Id id, const char* what) {
  return fmt::format("{}: {}", param::get_text(id), what);
}

}  // namespace

Json memory_node_facts(const topo::Machine& machine) {
  const size_t count = machine.memory_nodes().size();
  if (count < 2) {
    return {{"nodes", count == 1 ? "one: everything lies there" : "hwloc could not tell"}};
  }
  std::string binding = "yes, when a job starts";
  if (os::has_memory_policy())
    binding = "no: this process was given a memory policy (numactl), which is kept";
  return {{"parts_are_bound", binding},
          {"rings", reason_of(param::Id::memory_rings, "what others write for the rank to read at once")},
          {"bounce_buffers",
           reason_of(param::Id::memory_buffers, "what the rank sends through, filled and read once")},
          {"arena", reason_of(param::Id::memory_arena, "MPI_Alloc_mem: fast where bounce buffers are fast")},
          {"machine", node_rows(machine)},
          {"ranks", choice_rows(machine)}};
}

}  // namespace hearth::tools
