// A running measuring job of `hearth tune`: mpiexec with two ranks of libexec/hearth/tune_probe on two chosen
// processors, or with any number of ranks of libexec/hearth/tune_collective_probe. Questions and answers go
// through pipes. Owns the process; used by one thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/param.h"
#include "base/status.h"
#include "installation.h"
#include "tune/search.h"

namespace hearth::tools {

/// A threshold and its value on all ranks, which may be tune::kNever.
struct Setting {
  param::Id parameter;
  uint64_t value;
};

/// Two protocols for a message of one length.
struct Question {
  uint64_t bytes = 0;
  bool from_mpi = false;  // buffers of MPI_Alloc_mem
  std::vector<Setting> a, b;
  uint64_t time_us = 0;  // no round begins after it
};

/// Two algorithms of src/coll/algorithms.def for an allreduce of doubles.
struct CollectiveQuestion {
  uint64_t bytes = 0;
  int ranks = 0;  // at most those of the job
  const char* a = nullptr;
  const char* b = nullptr;
  uint64_t time_us = 0;  // no round begins after it
};

class TuneJob {
 public:
  TuneJob() = default;
  /// Asks the ranks to end and waits for them.
  ~TuneJob();
  TuneJob(const TuneJob&) = delete;
  TuneJob& operator=(const TuneJob&) = delete;

  /// The environment is this process's without thresholds, without a profile, and without parameters of
  /// collectives. The job ends after `limit_s` in any case.
  Status start(const Installation& place, int processor_a, int processor_b, int limit_s);
  /// The same for collectives, with the binding of mpiexec.
  Status start_collective(const Installation& place, int ranks, int limit_s);
  Status ask(const Question& question, tune::Comparison& answer);
  Status ask(const CollectiveQuestion& question, tune::Comparison& answer);
  /// The time of a cache line from rank to rank after the last question; 0 if unknown.
  double floor_ns() const { return floor_ns_; }

 private:
  Status start(std::vector<std::string> words, std::span<const int> processors);
  Status ask(const std::string& words, uint64_t bytes, tune::Comparison& answer);
  Status read_line(std::string& line);

  int process_ = -1;
  os::Descriptor questions_;
  os::Descriptor answers_;
  std::string read_ahead_;
  double floor_ns_ = 0;
};

}  // namespace hearth::tools
