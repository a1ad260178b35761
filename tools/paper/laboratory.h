// The systems under test: this machine, this installation, and other MPI libraries whose compiler wrappers
// build the same programs. Starts one job after the other and parses its output. Used by the experiments, in
// one thread.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/os_io.h"
#include "base/status.h"
#include "installation.h"
#include "paper/findings.h"
#include "topo/machine.h"

namespace hearth::tools::paper {

enum class Program { paper_probe, skew_probe };

/// An MPI library, and the way to start its jobs.
struct Library {
  enum class Launcher { hearth, hydra, open_mpi };

  std::string name;  // "Hearth", "MPICH", "Open MPI", "Intel MPI"
  Launcher launcher = Launcher::hearth;
  std::filesystem::path mpiexec;
  std::filesystem::path programs;  // folder of both
  std::vector<std::pair<std::string, std::string>> environment = {};
  bool yields = true;  // so that jobs with more ranks than processors end in finite time
};

struct Job {
  int ranks = 2;
  std::vector<std::string> words;  // arguments of the program
  Program program = Program::paper_probe;
  std::vector<int> processors = {};  // only these, one rank on each; empty: the launcher's choice
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> launcher_options = {};  // of Hearth's mpiexec
  std::vector<std::string> wrapper = {};           // command under which the ranks run the program
};

class Laboratory {
 public:
  /// `quick`: only enough to show that everything runs.
  Laboratory(topo::Machine machine, const Installation& place, bool quick);
  ~Laboratory();
  Laboratory(const Laboratory&) = delete;
  Laboratory& operator=(const Laboratory&) = delete;

  /// Builds the programs with the wrapper of the library in this folder. The error names what is missing.
  Status add_peer(const std::filesystem::path& prefix);

  const topo::Machine& machine() const { return machine_; }
  const Installation& place() const { return place_; }
  bool quick() const { return quick_; }
  const Library& ours() const { return ours_; }
  std::span<const Library> peers() const { return peers_; }
  /// The application to profile, with its arguments; empty: the built-in one.
  std::vector<std::string> application;
  int application_ranks = 4;

  /// Why the kernel does not copy between processes here; "" if it does.
  const std::string& kernel_copy_refusal() const { return kernel_copy_refusal_; }
  /// Shared memory of a job in which every rank communicates with every other one: Hearth's, and the original
  /// design's.
  std::pair<double, double> memory_by_formula(int ranks) const;

  /// The usual number, or few in quick runs.
  int rounds(int usual) const { return quick_ ? 2 : usual; }
  /// The largest even number of ranks with a core each, at most `most`; at least 2.
  int ranks_with_cores(int most) const;
  /// Bytes of the second-level cache of a core; 1 MiB if the system does not report it.
  double second_level_bytes() const;
  double last_level_bytes() const;
  /// A file or folder for the programs to write to; removed with the laboratory.
  std::filesystem::path scratch(const std::string& name);

  /// Runs a job; adds its values to `samples` and its notes to `findings`. Returns an error if the job fails
  /// or takes too long.
  Status run(const Library& library, const Job& job, Samples& samples, Findings& findings);
  /// The same with Hearth.
  Status run(const Job& job, Samples& samples, Findings& findings) {
    return run(ours_, job, samples, findings);
  }
  /// The same with each peer, one after the other. Series are named "NAME/SERIES"; a peer that fails adds a
  /// note.
  void run_on_peers(const Job& job, Samples& samples, Findings& findings);

  /// Runs the application with the job's ranks and options, with Hearth. Its output goes to standard error.
  Status run_application(const Job& job);

  /// The version strings of the libraries, by name.
  const std::map<std::string, std::string>& versions() const { return versions_; }
  const std::vector<double>& floors() const { return floors_; }
  int jobs() const { return jobs_; }

 private:
  std::vector<std::string> command_of(const Library& library, const Job& job,
                                      const std::vector<std::string>& program) const;

  topo::Machine machine_;
  Installation place_;
  bool quick_;
  std::string kernel_copy_refusal_;
  Library ours_;
  std::vector<Library> peers_;
  std::map<std::string, std::string> versions_;
  std::vector<double> floors_;
  void start_cleaner();

  std::filesystem::path folder_;
  int cleaner_ = 0;      // the process that removes the folder; 0: not started, -1: could not be started
  os::Descriptor life_;  // closed by the destructor or by the end of this process
  int jobs_ = 0;
};

/// Settings that force a protocol of Hearth: bounce buffers only, the kernel's single copy, the arena's
/// single copy.
std::string buffered_way();
std::string kernel_way();
std::string arena_way();
/// "NAME:SETTINGS".
std::string way(const std::string& name, const std::string& settings);
/// "1024,2048": powers of two from the first to the last, in increasing order.
std::string powers_of_two(uint64_t first, uint64_t last, int step = 1);

}  // namespace hearth::tools::paper
