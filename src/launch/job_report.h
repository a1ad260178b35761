// The files of --profile and --trace. They are opened before the ranks start, so that an unwritable name is
// reported at once, and written after the job, however it ended. Used by mpiexec's only thread.
#pragma once

#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/options.h"
#include "profile/board.h"
#include "shm/segment.h"

namespace hearth::launch {

class JobReport {
 public:
  /// Does nothing unless a report is requested; otherwise creates the board for the ranks.
  static Status open(const JobSpec& job, int ranks, JobReport& report);

  const profile::Board& board() const { return board_; }
  /// Call after the job. Prints on standard error which files were written, or why one could not be.
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
