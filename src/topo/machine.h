// The processors that a job may use and what they share, by hwloc where it can tell, else by the affinity
// mask alone. Used by the launcher and the tools; the library does not link this.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shm/layout.h"
#include "topo/memory_nodes.h"

struct hwloc_topology;

namespace hearth::topo {

/// One processor as the system numbers it, and the machine's objects that it lies in, each numbered from 0
/// through the whole machine; -1 where nothing is known.
struct Processor {
  int number = 0;
  shm::RankPlace place = {-1, -1, -1, -1, -1, -1};
};

class Machine {
 public:
  /// This machine, restricted to the affinity mask of the calling process. The machine that hwloc's variables
  /// (HWLOC_XMLFILE, HWLOC_SYNTHETIC) describe instead, all of it, where `other` allows that.
  static Machine discover(bool other = false);
  /// A machine from a topology that hwloc has loaded, restricted to `allowed`.
  static Machine from_topology(hwloc_topology* topology, std::span<const int> allowed);
  /// Nothing known but the processors' numbers.
  static Machine from_numbers(std::span<const int> allowed);

  /// In an order in which neighbours share most.
  const std::vector<Processor>& processors() const { return processors_; }
  /// The nodes that this process may use; empty where hwloc could not tell.
  const std::vector<MemoryNode>& memory_nodes() const { return memory_nodes_; }
  /// The same machine with only these of its processors.
  Machine restricted_to(std::span<const int> numbers) const;
  /// Whether it is: then a rank that may use all of it has to be bound all the same.
  bool restricted() const { return restricted_; }
  /// Cores with at least one processor of ours.
  int core_count() const { return core_count_; }
  /// Whether hwloc told what the processors share.
  bool detailed() const { return detailed_; }
  /// How many objects of each kind hwloc found, those outside of the affinity mask included: "packages 1,
  /// memory nodes 1, l3 1, l2 2, cores 2, processors 2"; without hwloc "processors 2", of the mask.
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

/// What all these processors share, as the place of a rank that may use each of them: -1 where they differ.
shm::RankPlace common_place(std::span<const Processor> processors);

/// "0-3,8" of rising numbers.
std::string number_ranges(std::span<const int> numbers);
/// "0-3,8": processor numbers as the kernel writes them. Pre: in any order, no number twice.
std::string processor_list(std::span<const Processor> processors);

}  // namespace hearth::topo
