// The files of --profile and --trace: opened before the ranks start, so that a name that cannot be written is
// told at once, and written when the job is over, however it ended. Used by mpiexec, in its one thread.
#pragma once

#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/options.h"
#include "profile/board.h"
#include "profile/summary.h"
#include "shm/segment.h"

namespace hearth::launch {

class JobReport {
 public:
  /// Nothing where nobody asked for a report; otherwise the board is there for the ranks.
  static Status open(const JobSpec& job, int ranks, JobReport& report);

  const profile::Board& board() const { return board_; }
  /// The job is over. Says on standard error what was written, or what could not be.
  void write(const JobSpec& job, const shm::Segment& segment, int exit_code) const;

 private:
  struct File {
    std::string name;
    os::Descriptor descriptor;
  };
  static Status open_file(const std::string& name, File& file);

  profile::Board board_;
  std::vector<File> profiles_;
  File trace_;
};

}  // namespace hearth::launch
