// The processors that a job may use and the hardware they share: from hwloc, or from the affinity mask alone
// if hwloc has no topology. Used by the launcher and the tools; the library does not link this.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shm/layout.h"
#include "topo/memory_nodes.h"

struct hwloc_topology;

namespace hearth::topo {

/// One processor by its operating-system number, and the topology objects that contain it. Objects of a kind
/// are numbered from 0 over the whole machine; -1 if unknown.
struct Processor {
  int number = 0;
  shm::RankPlace place = {-1, -1, -1, -1, -1, -1};
};

class Machine {
 public:
  /// This machine, restricted to the affinity mask of the calling process. With `other`, the complete machine
  /// that hwloc's variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC) describe, if they are set.
  static Machine discover(bool other = false);
  /// A machine from a loaded hwloc topology, restricted to `allowed`.
  static Machine from_topology(hwloc_topology* topology, std::span<const int> allowed);
  /// A machine of which only the processor numbers are known.
  static Machine from_numbers(std::span<const int> allowed);

  /// Sorted by package, NUMA node, L3, L2 and core, so that neighbours in the list share the most hardware.
  const std::vector<Processor>& processors() const { return processors_; }
  /// The memory nodes that this process may use; empty if unknown.
  const std::vector<MemoryNode>& memory_nodes() const { return memory_nodes_; }
  /// The same machine with only these of its processors.
  Machine restricted_to(std::span<const int> numbers) const;
  /// Whether restricted_to() removed processors: a rank that may use all of the rest still has to be bound.
  bool restricted() const { return restricted_; }
  /// Cores with at least one of these processors.
  int core_count() const { return core_count_; }
  /// Whether a topology is known, not only processor numbers.
  bool detailed() const { return detailed_; }
  /// The number of objects of each kind on the whole machine: "packages 1, memory nodes 1, l3 1, l2 2, cores
  /// 2, processors 2". Without a topology, "processors 2", of the affinity mask.
  const std::string& shape() const { return shape_; }

 private:
  void number_lonely_cores();
  void count_cores();

  std::vector<Processor> processors_;
  std::vector<MemoryNode> memory_nodes_;
  int core_count_ = 0;
  bool detailed_ = false;
  std::string shape_;
  bool restricted_ = false;
};

/// The objects that contain all these processors, as the place of a rank that may use each of them; -1 per
/// level at which they differ.
shm::RankPlace common_place(std::span<const Processor> processors);

/// "0-3,8" of rising numbers.
std::string number_ranges(std::span<const int> numbers);
/// "0-3,8": processor numbers as the kernel writes them. Pre: in any order, no number twice.
std::string processor_list(std::span<const Processor> processors);

}  // namespace hearth::topo
