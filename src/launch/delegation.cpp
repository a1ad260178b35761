#include "launch/delegation.h"

#include <algorithm>
#include <cstdlib>

#include "launch/hosts.h"
#include "launch/program.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

std::string join(const Words& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

// Names of a level; nullptr if the launcher has none.
struct LevelWords {
  Level level;
  const char* prrte;
  const char* hydra;
  const char* slurm;
};
constexpr LevelWords kLevels[] = {
    {Level::none, "none", "none", "none"},
    {Level::hwthread, "hwthread", "hwthread", "threads"},
    {Level::core, "core", "core", "cores"},
    {Level::l2, "l2cache", "l2cache", nullptr},
    {Level::l3, "l3cache", "l3cache", nullptr},
    {Level::numa, "numa", "numa", "ldoms"},
    {Level::package, "package", "socket", "sockets"},
};

// State of one translation.
struct Translation {
  const JobSpec& job;
  const Words& names;  // mpiexec's environment variables
  Delegation& delegation;

  void add(const Words& words) { append(delegation.command, words); }
  void leave_out(bool asked, const char* option) {
    if (asked) delegation.left_out.emplace_back(option);
  }
  const char* level(Level level, const char* LevelWords::*column, const char* option) {
    if (level == Level::automatic) return nullptr;
    for (const LevelWords& row : kLevels) {
      if (row.level == level && row.*column != nullptr) return row.*column;
    }
    delegation.left_out.emplace_back(option);
    return nullptr;
  }
  int host_count() const { return static_cast<int>(job.hosts.size()); }
  // Without -n, a program gets as many ranks as the hosts have slots.
  int ranks_of(const ProgramSpec& program) const {
    if (program.ranks > 0) return program.ranks;
    int ranks = 0;
    for (const std::string& host : job.hosts) {
      const int slots = slots_of_host(host);
      ranks += slots > 0 ? slots : std::max(job.ranks_per_node, 1);
    }
    return ranks;
  }
  // Options that no other launcher supports.
  void leave_out_our_own() {
    const PlacementRequest& placement = job.placement;
    leave_out(placement.spread || !placement.only_processors.empty(), "the details of --map-by");
    leave_out(placement.by_number || !placement.processor_sets.empty(), "the details of --bind-to");
    leave_out(!job.traffic_file.empty(), "--place-by");
    leave_out(!job.profile_files.empty(), "--profile");
    leave_out(!job.check.empty(), "--check");
    leave_out(!job.trace_file.empty(), "--trace");
    leave_out(job.why_ns != 0, "--why");
    leave_out(job.keep_waiting, "--keep-waiting");
    leave_out(job.survive, "--survive");
  }
  // Passes on options that only this launcher understands; reports the rest as left out.
  void pass_on(std::initializer_list<const char*> known) {
    for (const Words& words : job.ignored) {
      const std::string name = words[0].substr(words[0].find_first_not_of('-'));
      if (std::find(known.begin(), known.end(), name) != known.end()) {
        add(words);
      } else {
        delegation.left_out.push_back(join(words, " "));
      }
    }
  }
};

std::string seconds_of(uint64_t time_ns) {
  return std::to_string((time_ns + 999'999'999) / 1'000'000'000);
}

std::string text_of(const EnvironmentEdit& edit) {
  return edit.pass_on ? edit.name : edit.name + "=" + edit.value;
}

Status to_prrte(Translation& work) {
  const JobSpec& job = work.job;
  work.add({"--allow-run-as-root", "--host", join(job.hosts, ",")});
  const char* level = work.level(job.placement.map, &LevelWords::prrte, "--map-by");
  std::string map = level == nullptr ? "" : level;
  if (job.placement.ranks_per_object > 0) {
    map = "ppr:" + std::to_string(job.placement.ranks_per_object) + ":" + (level == nullptr ? "node" : level);
  } else if (job.ranks_per_node > 0) {
    map = "ppr:" + std::to_string(job.ranks_per_node) + ":node";
  }
  if (job.placement.cores_per_rank > 1) map += ":PE=" + std::to_string(job.placement.cores_per_rank);
  if (job.placement.oversubscribe) map += ":OVERSUBSCRIBE";
  if (job.placement.forbid_oversubscribe) map += ":NOOVERSUBSCRIBE";
  if (!map.empty()) work.add({"--map-by", map});
  if (const char* bind = work.level(job.placement.bind, &LevelWords::prrte, "--bind-to")) {
    work.add({"--bind-to", bind});
  }
  if (job.report_bindings) work.add({"--display", "bind"});
  Words output;
  if (job.tag_output) output.emplace_back("tag");
  if (job.merge_output) output.emplace_back("merge");
  if (!output.empty()) work.add({"--output", join(output, ",")});
  if (job.input_rank != 0) {
    work.add({"--stdin", job.input_rank < 0 ? "none" : std::to_string(job.input_rank)});
  }
  if (job.timeout_ns > 0) work.add({"--timeout", seconds_of(job.timeout_ns)});
  work.leave_out(!job.output_pattern.empty() || !job.error_pattern.empty(), "files for output");
  work.leave_out(job.inherit == Inherit::none, "--genvnone");
  work.pass_on({"mca", "gmca", "prtemca", "pmixmca", "omca", "prefix", "personality", "display"});
  bool first = true;
  for (const ProgramSpec& program : job.programs) {
    if (!first) work.add({":"});
    first = false;
    work.add({"-n", std::to_string(work.ranks_of(program))});
    const std::string& folder = program.folder.empty() ? job.folder : program.folder;
    if (!folder.empty()) work.add({"--wdir", folder});
    // PRRTE exports no variables to other machines by itself.
    for (const std::string& name : work.names) {
      if (name.starts_with("HEARTH_")) work.add({"-x", name});
    }
    for (const EnvironmentEdit& edit : job.environment) work.add({"-x", text_of(edit)});
    for (const EnvironmentEdit& edit : program.environment) work.add({"-x", text_of(edit)});
    work.add(program.command);
  }
  return {};
}

void add_for_hydra(Translation& work, const char* option, const EnvironmentEdit& edit) {
  if (edit.pass_on) {
    work.add({std::string(option) + "list", edit.name});
  } else {
    work.add({option, edit.name, edit.value});
  }
}

Status to_hydra(Translation& work) {
  const JobSpec& job = work.job;
  work.add({"-hosts", join(job.hosts, ",")});
  if (job.ranks_per_node > 0) work.add({"-ppn", std::to_string(job.ranks_per_node)});
  if (const char* bind = work.level(job.placement.bind, &LevelWords::hydra, "--bind-to")) {
    const int cores = job.placement.cores_per_rank;
    work.add({"-bind-to", cores > 1 ? std::string(bind) + ":" + std::to_string(cores) : bind});
  }
  if (const char* map = work.level(job.placement.map, &LevelWords::hydra, "--map-by")) {
    work.add({"-map-by", map});
  }
  if (job.tag_output) work.add({"-prepend-rank"});
  if (!job.output_pattern.empty()) work.add({"-outfile-pattern", job.output_pattern});
  if (!job.error_pattern.empty()) work.add({"-errfile-pattern", job.error_pattern});
  if (!job.folder.empty()) work.add({"-wdir", job.folder});
  if (job.inherit == Inherit::none) work.add({"-genvnone"});
  for (const EnvironmentEdit& edit : job.environment) add_for_hydra(work, "-genv", edit);
  if (job.timeout_ns > 0) {
    work.delegation.settings.push_back({"MPIEXEC_TIMEOUT", seconds_of(job.timeout_ns), false});
  }
  work.leave_out(job.placement.ranks_per_object > 0, "ppr of --map-by");
  work.leave_out(job.merge_output, "--merge-stderr-to-stdout");
  work.leave_out(job.input_rank != 0, "--stdin");
  work.leave_out(job.report_bindings, "--report-bindings");
  work.leave_out(job.placement.forbid_oversubscribe, "--nooversubscribe");
  work.pass_on({"launcher", "bootstrap", "rmk", "launcher-exec", "bootstrap-exec", "iface", "usize"});
  bool first = true;
  for (const ProgramSpec& program : job.programs) {
    if (!first) work.add({":"});
    first = false;
    work.add({"-n", std::to_string(work.ranks_of(program))});
    if (!program.folder.empty()) work.add({"-wdir", program.folder});
    for (const EnvironmentEdit& edit : program.environment) add_for_hydra(work, "-env", edit);
    work.add(program.command);
  }
  return {};
}

// Slurm's %t is the task, which is our rank %r.
std::string with_task(std::string pattern) {
  for (size_t at = pattern.find("%r"); at != std::string::npos; at = pattern.find("%r", at))
    pattern[at + 1] = 't';
  return pattern;
}

Status to_slurm(Translation& work) {
  const JobSpec& job = work.job;
  if (job.programs.size() > 1) {
    return fail(MPI_ERR_ARG,
                "several programs in one job on several machines: srun starts one. Remedy: install PRRTE or "
                "Hydra, which start several, or choose one with HEARTH_LAUNCH_HOSTS_WITH=prrte or =hydra");
  }
  const ProgramSpec& program = job.programs[0];
  Words names;
  for (const std::string& host : job.hosts) names.push_back(name_of_host(host));
  const std::string ranks = std::to_string(work.ranks_of(program));
  work.add({"--mpi=pmi2", "--kill-on-bad-exit=1", "--nodelist=" + join(names, ","),
            "--nodes=" + std::to_string(work.host_count()), "--ntasks=" + ranks});
  if (job.ranks_per_node > 0) work.add({"--ntasks-per-node=" + std::to_string(job.ranks_per_node)});
  if (job.placement.cores_per_rank > 1) {
    work.add({"--cpus-per-task=" + std::to_string(job.placement.cores_per_rank)});
  }
  if (const char* bind = work.level(job.placement.bind, &LevelWords::slurm, "--bind-to")) {
    const char* verbose = job.report_bindings ? "verbose," : "";
    work.add({std::string("--cpu-bind=") + verbose + bind});
  } else if (job.report_bindings) {
    work.add({"--cpu-bind=verbose"});
  }
  if (job.placement.oversubscribe) work.add({"--overcommit"});
  if (job.tag_output) work.add({"--label"});
  if (!job.output_pattern.empty()) work.add({"--output=" + with_task(job.output_pattern)});
  if (!job.error_pattern.empty()) work.add({"--error=" + with_task(job.error_pattern)});
  work.add({"--input=" + (job.input_rank < 0 ? std::string("none") : std::to_string(job.input_rank))});
  const std::string& folder = program.folder.empty() ? job.folder : program.folder;
  if (!folder.empty()) work.add({"--chdir=" + folder});
  if (job.timeout_ns > 0) work.add({"--time=0:" + seconds_of(job.timeout_ns)});
  // srun exports its whole environment.
  for (const auto* edits : {&job.environment, &program.environment}) {
    for (const EnvironmentEdit& edit : *edits) {
      if (!edit.pass_on) work.delegation.settings.push_back(edit);
    }
  }
  work.leave_out(job.inherit == Inherit::none, "--genvnone");
  work.leave_out(job.placement.map != Level::automatic, "--map-by");
  work.leave_out(job.merge_output && !job.output_pattern.empty(), "--merge-stderr-to-stdout");
  work.pass_on({});
  work.add(program.command);
  return {};
}

struct Delegate {
  const char* name;
  const char* program;
  const char* title;
  Status (*translate)(Translation& work);
};
// In the order of preference.
constexpr Delegate kDelegates[] = {
    {"prrte", "prterun", "PRRTE", to_prrte},
    {"hydra", "mpiexec.hydra", "Hydra", to_hydra},
    {"slurm", "srun", "Slurm", to_slurm},
};

// nullptr if no launcher is installed.
const Delegate* choose(const std::string& search_path, const std::string& wish, bool in_allocation,
                       std::string& path) {
  const std::string first = wish.empty() && in_allocation ? "slurm" : wish;
  for (const bool wished : {true, false}) {
    if (!wished && !wish.empty()) return nullptr;
    for (const Delegate& delegate : kDelegates) {
      if (wished != (first == delegate.name)) continue;
      const FoundProgram found = find_program(delegate.program, "", search_path);
      if (!found.problem.empty()) continue;
      path = found.path;
      return &delegate;
    }
  }
  return nullptr;
}

}  // namespace

Status delegate_job(const JobSpec& job, const std::string& search_path, const std::string& wish,
                    bool in_allocation, const std::vector<std::string>& names, Delegation& delegation) {
  const Delegate* delegate = choose(search_path, wish, in_allocation, delegation.path);
  if (delegate == nullptr) {
    const std::string missing =
        wish.empty() ? "none of prterun, mpiexec.hydra and srun is" : wish + " is not";
    return fail(
        MPI_ERR_ARG,
        "Hearth's mpiexec starts ranks on this machine, and hands a job for others to a launcher that "
        "can reach them, but %s installed. Remedy: install PRRTE, MPICH's Hydra (Debian and PyPI: mpich) "
        "or Slurm's srun, or leave the host list away",
        missing.c_str());
  }
  delegation.title = delegate->title;
  delegation.command = {delegate->program};
  Translation work = {job, names, delegation};
  work.leave_out_our_own();
  return delegate->translate(work);
}

}  // namespace hearth::launch
