// Where experiments are measured: this machine, this installation, and other MPI libraries whose wrappers
// build the same programs. Starts one job after the other and reads what it prints. Used by the experiments,
// in one thread.
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

/// An MPI library, and how its jobs are started.
struct Library {
  enum class Launcher { hearth, hydra, open_mpi };

  std::string name;  // "Hearth", "MPICH", "Open MPI", "Intel MPI"
  Launcher launcher = Launcher::hearth;
  std::filesystem::path mpiexec;
  std::filesystem::path programs;  // folder of both
  std::vector<std::pair<std::string, std::string>> environment = {};
  bool yields = true;  // so that more ranks than processors come to an end
};

struct Job {
  int ranks = 2;
  std::vector<std::string> words;  // of the program
  Program program = Program::paper_probe;
  std::vector<int> processors = {};  // only these, a rank on each; empty: the launcher's choice
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> launcher_options = {};  // of our mpiexec
  std::vector<std::string> wrapper = {};           // what the ranks run the program under
};

class Laboratory {
 public:
  /// Quick: as little as shows that everything runs.
  Laboratory(topo::Machine machine, const Installation& place, bool quick);
  ~Laboratory();
  Laboratory(const Laboratory&) = delete;
  Laboratory& operator=(const Laboratory&) = delete;

  /// Builds the programs with the wrapper of the library under this folder. An error says what is missing.
  Status add_peer(const std::filesystem::path& prefix);

  const topo::Machine& machine() const { return machine_; }
  const Installation& place() const { return place_; }
  bool quick() const { return quick_; }
  const Library& ours() const { return ours_; }
  std::span<const Library> peers() const { return peers_; }
  /// The application that is looked at, with its words; empty: ours.
  std::vector<std::string> application;
  int application_ranks = 4;

  /// Why the kernel does not copy between processes here; "" where it does.
  const std::string& kernel_copy_refusal() const { return kernel_copy_refusal_; }
  /// Shared memory of a job in which every rank talks to every other one: ours, and the original design's.
  std::pair<double, double> memory_by_formula(int ranks) const;

  /// As many as usual, or in quick runs few.
  int rounds(int usual) const { return quick_ ? 2 : usual; }
  /// Ranks that have a core each, an even number, not more than that; at least 2.
  int ranks_with_cores(int most) const;
  /// Bytes of the second-level cache of a core; 1 MiB where the system does not tell.
  double second_level_bytes() const;
  double last_level_bytes() const;
  /// A file or folder for the programs to write to; gone with the laboratory.
  std::filesystem::path scratch(const std::string& name);

  /// The lines of a job into samples, its notes into findings. An error where it fails or takes too long.
  Status run(const Library& library, const Job& job, Samples& samples, Findings& findings);
  /// The same on ours.
  Status run(const Job& job, Samples& samples, Findings& findings) {
    return run(ours_, job, samples, findings);
  }
  /// The same on each peer, one after the other, series becoming "NAME/SERIES"; a peer that fails makes a
  /// note.
  void run_on_peers(const Job& job, Samples& samples, Findings& findings);

  /// The application that was named, with the job's ranks and options, on ours; what it prints goes to
  /// standard error.
  Status run_application(const Job& job);

  /// What the library said of itself, by name.
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
  int cleaner_ = 0;      // the process that takes the folder away; 0: not started, -1: there is none
  os::Descriptor life_;  // when it is closed, also by our end
  int jobs_ = 0;
};

/// Settings of ways, for Hearth: through cells only, copied once by the kernel, copied once out of the arena.
std::string buffered_way();
std::string kernel_way();
std::string arena_way();
/// "NAME:SETTINGS".
std::string way(const std::string& name, const std::string& settings);
/// "1024,2048" of rising powers of two from the first to the last.
std::string powers_of_two(uint64_t first, uint64_t last, int step = 1);

}  // namespace hearth::tools::paper
