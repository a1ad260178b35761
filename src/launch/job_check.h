// mpiexec's part of --check: the preloaded library, the file that the ranks share, and the checks that are
// possible only after the job: messages that were never received, collectives that some ranks never called,
// and the summary. Used by mpiexec's only thread.
#pragma once

#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/options.h"
#include "shm/check_board.h"

namespace hearth::launch {

class JobCheck {
 public:
  /// Does nothing unless checks are requested.
  static Status open(const JobSpec& job, int ranks, JobCheck& check);

  bool wanted() const { return board_.usable(); }
  bool fatal() const { return fatal_; }
  const shm::CheckBoard& board() const { return board_; }
  /// Preloads the library into programs with this environment.
  void add_to(std::vector<std::string>& environment) const;
  /// Records that the ranks are deadlocked.
  void note_deadlock(const std::string& text) const;
  /// Call after the job, or after it failed to start. Prints the findings on standard error and returns
  /// mpiexec's exit code.
  int finish(int exit_code, bool started);

 private:
  void look_for_lost_messages() const;
  void look_for_missing_collectives() const;
  void tell(shm::CheckClass kind, const std::vector<std::string>& lines) const;
  bool all_finalized() const;
  void write_json() const;
  std::string name_of_comm(uint32_t rank, uint32_t place) const;

  shm::CheckBoard board_;
  std::string library_;
  std::string how_;
  bool fatal_ = false;
  std::string json_name_;
  os::Descriptor json_;
};

}  // namespace hearth::launch
