// Simulated ranks of one communicator, all in this thread. They execute the steps of the library's own
// schedules, in a build of src/coll with access counters. A model of unbounded caches counts the cache lines
// that move. Ranks are never late: a rank waits only for data that other ranks could not have published
// sooner.
//
// A message counts as its header and data in a ring; matching, credit and bounce buffers are not counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coll/region_pool.h"
#include "coll/schedule.h"
#include "shm/node.h"
#include "shm/segment.h"

namespace hearth::coll {

/// Of one rank and one collective.
struct Counts {
  double lines_written = 0;  // that other ranks read
  double lines_read = 0;     // that another rank wrote since this rank read them last
  double bells = 0;          // checks whether a rank sleeps, in lines that no rank writes meanwhile
  double messages = 0;       // sent
  double copied = 0;         // bytes
  double reduced = 0;        // bytes of results, for each operand beyond the first
  double waits = 0;          // reads of a line that could not be there yet
  double chain = 0;          // longest chain of lines that led to it, each read before the next was written

  Counts& operator+=(const Counts& other);
  Counts& operator/=(double parts);
  /// Raises each counter to the greater of the two.
  void raise_to(const Counts& other);

 private:
  template <class Each>
  void with(const Counts& other, const Each& each);
};

class CountedRanks {
 public:
  explicit CountedRanks(int ranks);
  ~CountedRanks();
  CountedRanks(const CountedRanks&) = delete;
  CountedRanks& operator=(const CountedRanks&) = delete;

  int size() const { return size_; }
  /// Sets the algorithm hint of the communicator, such as "barrier=tree".
  void wish(const std::string& algorithms);

  /// Adds the steps of one rank for one collective.
  using Build = std::function<Status(Schedule& schedule, int rank)>;
  /// Runs the collective `times` times in a row and returns the mean counters of one run, by rank. False if
  /// the ranks deadlock or a step fails.
  bool run(const Build& build, int times, std::vector<Counts>& counts);

 private:
  struct Rank;

  bool run_once(const Build& build);

  int size_;
  shm::Segment segment_;
  std::optional<shm::Node> node_;
  std::optional<RegionPool> pool_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace hearth::coll
