// A running job: the ranks' processes, their output, signals to mpiexec, and the rules by which the end of
// one rank ends the job. One thread runs one event loop. All state is private to mpiexec except the segment:
// ranks publish there what they wait for, and mpiexec publishes there which ranks have died.
//
//   start ranks -> wait for: output, a rank's end, a signal, a timeout
//     a rank fails / time limit / reader gone  -> report, mark it dead in the segment, SIGTERM to all ranks;
//                                                 SIGKILL after the grace period
//     all ranks have ended                     -> drain their output, end what is left in their groups
#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os_io.h"
#include "base/os_process.h"
#include "base/status.h"
#include "launch/input.h"
#include "launch/job_check.h"
#include "launch/memory_reserve.h"
#include "launch/options.h"
#include "launch/output.h"
#include "launch/parent_link.h"
#include "launch/placement.h"
#include "launch/program_mpi.h"
#include "launch/reaper.h"
#include "launch/report.h"
#include "launch/snapshot.h"
#include "launch/why.h"
#include "profile/board.h"
#include "shm/arena.h"
#include "shm/liveness.h"
#include "shm/segment.h"

namespace hearth::launch {

class Job {
 public:
  /// All referenced arguments outlive the job. Pre: one binding per rank, ranks counted over all programs.
  Job(const JobSpec& spec, const Reaper& reaper, const shm::Segment& segment, const shm::Arena& arena,
      const profile::Board& board, const JobCheck& check, std::vector<Binding> bindings, ParentLink& parent);

  /// Runs the job to its end and returns mpiexec's exit code. Does not return if mpiexec has to die of
  /// SIGPIPE.
  int run(char** own_environment);
  /// Whether all ranks could be started. Pre: run() has returned.
  bool started() const { return !start_failed_; }

 private:
  struct Program {
    const ProgramSpec* spec = nullptr;
    std::string path;
    std::string folder;
    std::vector<std::string> environment;  // the same for all its ranks
  };
  struct Rank {
    int pid = -1;
    const Program* program = nullptr;
    os::Descriptor handle;  // pidfd; not open if the kernel has none, or after the rank has ended
    bool ended = false;
    os::ProcessEnd end;
    Cause cause = Cause::none;   // why its end ends the job
    bool finalized = false;      // whether it had called MPI_Finalize when it ended
    bool out_of_memory = false;  // killed by the kernel's OOM killer
    RankStream output;
    RankStream error;
  };
  enum class Source : uint32_t {
    signals,
    complaints,
    parent,
    rank,
    output,
    error,
    sink,
    terminal,
    terminal_pipe
  };

  // Starting (job_start.cpp)
  void open_sinks();
  Sink* file_sink(const std::string& pattern, int rank);
  bool start_ranks(char** own_environment);
  bool find_programs(char** own_environment);
  bool choose_library(Program& program, const ProgramMpi& mpi);
  void share_heap_of(Program& program, const ProgramMpi& mpi);
  bool start_rank(int rank, int program, int input);
  bool cannot_wait();
  bool make_stream(int rank, Source source, os::Descriptor& for_rank);
  int prepare_input(os::Descriptor& for_rank);

  // The event loop
  void loop();
  void handle(Source source, uint32_t index);
  void handle_signals();
  void handle_signal(int signal);
  void handle_complaints();
  void handle_parent();
  void handle_stream(RankStream& stream, Source source, uint32_t rank);
  void handle_times();
  int next_timeout_ms() const;
  bool finished() const;

  // Ends of ranks and of the job
  void look_for_ended_ranks();
  void rank_has_ended(uint32_t rank);
  void judge(uint32_t rank);
  void end_job(int exit_code, bool at_once);
  void signal_ranks(int signal);
  void give_up_killing();
  void time_is_over();
  void reader_is_gone();
  void clear_up();

  // Deaths that the other ranks may survive (job_deaths.cpp)
  bool others_return_errors() const;
  void die_among_survivors(uint32_t rank);
  void look_for_survivors();
  int code_of_survivors() const;

  // Deadlocks and standstills (why/job_why.cpp)
  void say_why();
  void look_for_standstill();
  bool has_news_of_standstill(uint64_t now_ns);
  bool some_rank_has_left() const;

  // Ranks that have loaded another MPI library (job_guard.cpp)
  void look_for_other_mpis();

  // Messages
  void say(const std::string& text);
  void tell_observer();
  void say_states(const std::string& headline);
  void say_death(uint32_t rank);
  void say_what_they_did(bool wait);
  std::string running_words(const char* whom) const;
  bool memory_ran_out(const Rank& rank);
  std::string rank_words(uint32_t rank) const;

  // Output
  void tell_if_broken(const RankStream& stream, uint32_t index);
  void flush_all();
  void watch_terminal();

  uint32_t rank_count() const { return static_cast<uint32_t>(ranks_.size()); }
  bool some_rank_used_mpi() const;

  const JobSpec& spec_;
  const Reaper& reaper_;
  const shm::Segment& segment_;
  const shm::Arena& arena_;
  const profile::Board& board_;
  const JobCheck& check_;
  std::vector<Binding> bindings_;
  ParentLink& parent_;  // not open unless MPI_Comm_spawn started this job
  std::vector<Program> programs_;
  std::vector<Rank> ranks_;

  os::Poller poller_;
  std::unique_ptr<os::SignalInbox> signals_;
  os::Pipe complaints_;
  os::Descriptor segment_for_ranks_;
  os::Descriptor arena_for_ranks_;  // not open if there is no arena
  os::Descriptor board_for_ranks_;  // not open without --profile or --trace
  os::Descriptor check_for_ranks_;  // not open without --check
  TerminalInput terminal_;
  bool terminal_watched_ = false;
  bool terminal_pipe_watched_ = false;

  std::vector<std::unique_ptr<Sink>> sinks_;
  Sink* output_ = nullptr;  // standard output
  Sink* error_ = nullptr;   // standard error; the same sink as output_ if both are one file
  std::map<std::string, Sink*> files_;
  std::vector<bool> sink_watched_;
  std::vector<std::pair<Source, uint32_t>> paused_;  // streams whose sink is congested: not read

  const shm::Liveness liveness_;
  Observer observer_;
  std::vector<uint64_t> waits_told_;  // by rank: begin of the wait that --why last reported
  uint64_t moves_seen_ = 0;           // fingerprint of all waits; since still_since_ns_ unchanged
  uint64_t still_since_ns_ = 0;
  bool still_told_ = false;
  bool why_asked_ = false;      // by --why or --check
  uint64_t why_ns_ = 0;         // duration after which a wait is examined
  uint64_t not_before_ns_ = 0;  // next examination, after waits that were no deadlock

  int guard_looks_ = 0;

  uint32_t running_ = 0;
  uint32_t streams_open_ = 0;
  bool ending_ = false;
  int exit_code_ = 0;
  int interrupts_ = 0;  // received SIGINT and SIGTERM; the second one kills the ranks without a grace period
  bool quiet_ = false;  // the user ended the job: print no message about it
  bool start_failed_ = false;
  bool die_of_broken_pipe_ = false;
  bool cannot_kill_ = false;  // the system refuses signals to ranks; they remain after clear_up()
  long long memory_kills_before_ = 0;
  MemoryReserve reserve_;
  bool go_on_ = false;  // a rank died, and the job continues
  int death_code_ = 0;  // mpiexec's exit code for the first death
  /// State of the ranks when one died, formatted by another thread: reading the symbol tables of their
  /// programs takes longer than the handling of the next death may be delayed.
  std::future<std::vector<std::string>> words_;

  // Times, in ns of os::now_ns(); 0: not set.
  uint64_t limit_at_ = 0;
  uint64_t terminate_at_ = 0;
  uint64_t kill_at_ = 0;
  uint64_t drain_until_ = 0;
  uint64_t prompt_at_ = 0;
  uint64_t why_at_ = 0;
  uint64_t words_at_ = 0;
  uint64_t guard_at_ = 0;       // when ranks outside MPI are examined for another MPI library
  uint64_t stubborn_at_ = 0;    // when ranks that have not reacted to SIGINT or SIGTERM are reported
  uint64_t grace_ends_at_ = 0;  // end of the grace period in which survivors must report that they continue
};

}  // namespace hearth::launch
