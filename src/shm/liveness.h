// Deaths of ranks. On one machine they are published in the segment to every rank of the job: by mpiexec or,
// under another library's launcher, by the ranks that detect them (abi/liveness_monitor.h).
//
//   publisher: cause and code -> claims the next number (compare-exchange) -> number of the death (release)
//               -> count of deaths (compare-exchange) -> wakes all ranks
//   rank:      polls the count (acquire) after waiting for a while -> number of each rank -> cause and code
//
// A process that reads a claimed number that is not counted yet first completes the update, because the
// claimant may have died.
//
// Deaths are numbered in the order in which they are published, so "the first n deaths" is the same set of
// processes for all ranks, and two ranks agree on such a set by one number. A process is published as dead
// only after it has ended; everything that it stored stays readable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/segment.h"

namespace hearth::shm {

/// This rank's view of the deaths, independent of how they are published. Under the library's lock.
class Deaths {
 public:
  virtual ~Deaths() = default;
  /// Number of dead ranks.
  virtual uint32_t deaths() const = 0;
  /// The number of a rank's death, from 1; 0 while it is alive.
  virtual uint32_t death_of(int rank) const = 0;
  /// "rank 3 of MPI_COMM_WORLD (process 4711) was killed by SIGSEGV". Pre: it is dead.
  virtual void describe(int rank, char* text, size_t bytes) const = 0;
  /// Informs the launcher that the job continues without the dead ranks.
  virtual void go_on() const = 0;
  /// How many of the first `count` deaths are in the segment's registry, which numbers only its own.
  virtual uint32_t in_segment(uint32_t count) const { return count; }
};

class Liveness final : public Deaths {
 public:
  /// Pre: the segment outlives it.
  explicit Liveness(const Segment& segment) : segment_(&segment) {}

  uint32_t deaths() const override;
  uint32_t death_of(int rank) const override;
  void describe(int rank, char* text, size_t bytes) const override;
  void go_on() const override;

  // For publishers of deaths.
  /// Publishes a death, unless it is published already, and wakes all sleeping ranks. Several processes may
  /// publish the same death with the same cause.
  void publish(int rank, DeathCause cause, int code) const;
  /// Marks a process that has ended, without publishing its death, because the job ends too.
  void mark(int rank) const;
  bool goes_on() const;

 private:
  const Segment* segment_;
};

}  // namespace hearth::shm
