// Who has died. On one machine it is told in the segment, to every rank of the job: by the launcher, or,
// where that is another library's, by whichever ranks find out (abi/neighbours.h).
//
//   who tells:  cause and code -> claims the next number (compare-exchange) -> number of the death (release)
//               -> how many have died (compare-exchange) -> wakes all
//   rank:       how many have died (acquire), whenever it has waited for a while -> who -> cause and code
//
// Who finds a number claimed and not counted completes that first, since the claimant may have died.
//
// Deaths have numbers in the order in which they were told, the same for all: "the first n deaths" is
// a set of processes that any two ranks can agree on by one number. A process that is told dead runs no more,
// and everything that it ever stored is there to be read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shm/segment.h"

namespace hearth::shm {

/// What a rank knows of deaths, whoever has told it. Under the library's lock.
class Deaths {
 public:
  virtual ~Deaths() = default;
  /// How many have died.
  virtual uint32_t deaths() const = 0;
  /// Which death a rank's was, from 1; 0 as long as it lives.
  virtual uint32_t death_of(int rank) const = 0;
  /// "rank 3 of MPI_COMM_WORLD (process 4711) was killed by SIGSEGV". Pre: it is dead.
  virtual void describe(int rank, char* text, size_t bytes) const = 0;
  /// Says to the launcher that this job goes on without the dead.
  virtual void go_on() const = 0;
};

class Liveness final : public Deaths {
 public:
  /// Pre: the segment outlives it.
  explicit Liveness(const Segment& segment) : segment_(&segment) {}

  uint32_t deaths() const override;
  uint32_t death_of(int rank) const override;
  void describe(int rank, char* text, size_t bytes) const override;
  void go_on() const override;

  // The side of who tells.
  /// Notes a death, unless it is noted, and wakes all ranks that sleep. Several may tell the same death if
  /// all give the same cause.
  void tell(int rank, DeathCause cause, int code) const;
  /// Marks a process that has ended, where the job ends too and nobody is told.
  void mark(int rank) const;
  bool goes_on() const;

 private:
  const Segment* segment_;
};

}  // namespace hearth::shm
