// mpiexec's half of --check: the library that the ranks preload, the file that they share, and, when the job
// is over, what only shows then: messages that nobody received, collectives that some ranks never called, and
// the sum of it all. Used by mpiexec, in its one thread.
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
  /// Nothing where nobody asked for checks.
  static Status open(const JobSpec& job, int ranks, JobCheck& check);

  bool wanted() const { return board_.usable(); }
  bool fatal() const { return fatal_; }
  const shm::CheckBoard& board() const { return board_; }
  /// Has programs with this environment load the library.
  void add_to(std::vector<std::string>& environment) const;
  /// The ranks wait for each other for ever.
  void note_deadlock(const std::string& text) const;
  /// The job is over: says on standard error what was found. mpiexec's exit code.
  int finish(int exit_code);

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
