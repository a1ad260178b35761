// Made-up ranks of one communicator, all in this thread: they go through the steps of the library's own
// schedules, in the build of src/coll that tells what it does to shared memory, and caches without an end
// keep count. Ranks are never late: where one waits, it waits for what others could not have done sooner.
//
// A message stands for its header and data in a ring; matching, credit and cells are not counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coll/schedule.h"
#include "shm/segment.h"

namespace hearth::coll {

/// Of one rank and one collective.
struct Counts {
  double lines_written = 0;  // that others read
  double lines_read = 0;     // that another one wrote since this rank read them last
  double bells = 0;          // looks whether somebody sleeps, at lines that nobody writes meanwhile
  double messages = 0;       // sent
  double copied = 0;         // bytes
  double reduced = 0;        // bytes of results, for each operand beyond the first
  double waits = 0;          // for a line that could not be there yet
  double chain = 0;          // lines, each read before the next one was written, that led to its last one

  Counts& operator+=(const Counts& other);
  Counts& operator/=(double parts);
  /// The greater of each.
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
  /// "barrier=tree": the hint of the communicator.
  void wish(const std::string& algorithms);

  /// One collective: adds the steps of each rank.
  using Build = std::function<Status(Schedule& schedule, int rank)>;
  /// Runs it so many times in a row; the mean of one time, by rank. False when ranks wait for each other, or
  /// one meets an error.
  bool run(const Build& build, int times, std::vector<Counts>& counts);

 private:
  struct Rank;

  bool run_once(const Build& build);

  int size_;
  shm::Segment segment_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace hearth::coll
