#include "launch/mpiexec.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/chaos.h"
#include "base/os_io.h"
#include "base/os_machine.h"
#include "base/os_memory.h"
#include "base/os_process.h"
#include "base/os_wait.h"
#include "base/param.h"
#include "base/status.h"
#include "launch/auto_tune.h"
#include "launch/delegation.h"
#include "launch/drawing.h"
#include "launch/hosts.h"
#include "launch/job.h"
#include "launch/job_check.h"
#include "launch/job_report.h"
#include "launch/options.h"
#include "launch/parent_link.h"
#include "launch/placement.h"
#include "launch/program.h"
#include "launch/reaper.h"
#include "launch/traffic_file.h"
#include "launch/variables.h"
#include "launch/why.h"
#include "mpi.h"
#include "shm/arena.h"
#include "shm/segment.h"
#include "topo/machine.h"
#include "topo/memory_kind.h"
#include "tune/profile.h"
#include "tune/threshold.h"

namespace hearth::launch {
namespace {

// The link to the rank that started this job by MPI_Comm_spawn; closed for other jobs.
ParentLink parent;

int complain(int code) {
  if (parent.collects()) {
    parent.note(last_failure_text());
    parent.report(code);
    return code;
  }
  std::fprintf(stderr, "mpiexec: %s\n", last_failure_text());
  return code;
}

void note(const std::string& text) {
  std::fprintf(stderr, "mpiexec: %s\n", text.c_str());
}

int ranks_of(const JobSpec& job) {
  int ranks = 0;
  for (const ProgramSpec& program : job.programs) ranks += program.ranks;
  return ranks;
}

// Ranks of programs without -n: from the slots, -ppn or ppr; else one.
void fill_in_ranks(JobSpec& job, const topo::Machine& machine, int slots) {
  int standard = slots > 0 ? slots : 1;
  if (job.ranks_per_node > 0) standard = job.ranks_per_node;
  if (job.placement.ranks_per_object > 0) {
    standard = job.placement.ranks_per_object * object_count(machine, job.placement.map);
  }
  for (ProgramSpec& program : job.programs) {
    if (program.ranks == 0) program.ranks = standard;
  }
}

int processors_to_share(const topo::Machine& machine) {
  const int usable = static_cast<int>(machine.processors().size());
  const int quota = os::quota_processors();
  return quota > 0 ? std::min(usable, quota) : usable;
}

Status check_room(const JobSpec& job, int ranks, int processors) {
  if (ranks <= processors || job.placement.oversubscribe) return {};
  if (job.placement.forbid_oversubscribe) {
    return fail(MPI_ERR_ARG, "%d ranks, but %d processors, and --nooversubscribe was given", ranks,
                processors);
  }
  std::string text = "note: " + std::to_string(ranks) + " ranks share " + std::to_string(processors) +
                     (processors == 1 ? " processor" : " processors");
  note(text + " (--oversubscribe silences this)");
  return {};
}

std::vector<std::string> names_of(char** environment) {
  std::vector<std::string> names;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    names.push_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

// The variables of mpiexec and of the command line.
std::vector<std::string> names_in_use(const JobSpec& job, char** environment) {
  std::vector<std::string> names = names_of(environment);
  for (const EnvironmentEdit& edit : job.environment) names.push_back(edit.name);
  for (const ProgramSpec& program : job.programs) {
    for (const EnvironmentEdit& edit : program.environment) names.push_back(edit.name);
  }
  return names;
}

void check_variables(const JobSpec& job, char** environment) {
  for (const std::string& line : unknown_variables(names_in_use(job, environment))) note(line);
  remove_unreadable_variables();
}

Status check_input(const JobSpec& job, int ranks) {
  if (job.why_ns > 0) HEARTH_TRY(check_why_is_built());
  if (job.input_rank < ranks) return {};
  return fail(MPI_ERR_ARG, "--stdin %d: the ranks of this job are 0 to %d", job.input_rank, ranks - 1);
}

void name_ignored(const JobSpec& job) {
  if (job.ignored.empty()) return;
  std::string text = "note: without a meaning here, ignored:";
  for (size_t i = 0; i < job.ignored.size(); ++i) {
    if (i > 0) text += ",";
    for (const std::string& word : job.ignored[i]) text += " " + word;
  }
  note(text);
}

// Ranks write parts of a profile under other launchers only.
void name_ignored_profile_folder(const JobSpec& job, char** environment) {
  const std::vector<std::string> names = names_in_use(job, environment);
  if (std::ranges::find(names, "HEARTH_PROFILE_FOLDER") == names.end()) return;
  note(
      "note: HEARTH_PROFILE_FOLDER is for jobs of other launchers, ignored. Remedy: mpiexec --profile FILE "
      "writes the profile of this job");
}

Status make_segment(int ranks, int processors, const std::vector<Binding>& bindings, shm::Segment& segment) {
  std::vector<shm::RankMemory> memory;
  for (const Binding& binding : bindings) {
    memory.push_back(binding.memory);
    HEARTH_TRY(topo::choose_nodes(memory.back()));
  }
  // No nodes to choose from, or the user has set a memory policy for the whole job.
  const auto open = [](const shm::RankMemory& nodes) { return nodes.local < 0; };
  if (std::all_of(memory.begin(), memory.end(), open) || os::has_memory_policy()) memory.clear();
  HEARTH_TRY(
      shm::Segment::create(shm::SegmentPlan::for_ranks(static_cast<uint32_t>(ranks)), segment, memory));
  // The job that spawned this one uses processors too.
  segment.job().usable_processors = static_cast<uint32_t>(std::max(processors - parent.others(), 1));
  segment.job().launcher_pid = static_cast<uint32_t>(os::process_id());
  for (int rank = 0; rank < ranks; ++rank)
    segment.rank(rank).place = bindings[static_cast<size_t>(rank)].place;
  return {};
}

// Passes the tuning profile of this machine to all ranks. Returns whether there is one.
bool delegate_profile(const topo::Machine& machine, JobSpec& job) {
  const tune::ProfileSearch search = tune::find_profile(machine);
  for (const std::string& text : search.notes) note("note: " + text);
  if (!search.profile) return false;
  const std::string words = tune::to_words(search.profile->values());
  if (!words.empty()) job.environment.push_back({tune::kVariable, words, false});
  return true;
}

// The processors that the job may use, out of those that mpiexec may use.
Status find_machine(const JobSpec& job, topo::Machine& machine) {
  machine = topo::Machine::discover(job.do_not_launch);
  HEARTH_TRY(check_processors(machine, job.placement));
  const std::vector<int>& only = job.placement.only_processors;
  if (!only.empty()) machine = machine.restricted_to(only);
  return {};
}

Status place_by_traffic(const JobSpec& job, const topo::Machine& machine, std::vector<Binding>& bindings) {
  if (job.traffic_file.empty()) return {};
  const std::string text = os::read_text(job.traffic_file.c_str());
  if (text.empty()) {
    return fail(MPI_ERR_ARG, "--place-by: cannot read '%s'", job.traffic_file.c_str());
  }
  std::vector<topo::Traffic> traffic;
  HEARTH_TRY(read_traffic(job.traffic_file, text, static_cast<int>(bindings.size()), traffic));
  const PlacementGain gain = place_by(machine, traffic, bindings);
  if (!job.report_bindings) return {};
  char words[128];
  std::snprintf(words, sizeof words, "bytes by distance: %.3g in the default order, %.3g in this one",
                static_cast<double>(gain.before), static_cast<double>(gain.after));
  note("--place-by: " + std::string(words));
  return {};
}

void print_bindings(const JobSpec& job, const topo::Machine& machine, const std::vector<Binding>& bindings) {
  size_t rank = 0;
  for (const ProgramSpec& program : job.programs) {
    for (int i = 0; i < program.ranks; ++i, ++rank) {
      note("rank " + std::to_string(rank) + " (" + program.command[0] + ") " + bindings[rank].description);
    }
  }
  std::fputs(draw(machine, bindings).c_str(), stderr);
}

// Launcher delegation: becomes a launcher that reaches other machines. Returns only on failure or with
// --do-not-launch.
int leave_to_others(const JobSpec& job, const std::string& other_host, char** environment) {
  std::vector<std::string> variables;
  for (char** entry = environment; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  const char* search_path = find_variable(variables, "PATH");
  const bool in_allocation = find_variable(variables, "SLURM_JOB_ID") != nullptr;
  Delegation delegation;
  if (!delegate_job(job, search_path == nullptr ? "" : search_path,
                    param::get_text(param::Id::launch_hosts_with), in_allocation, names_of(environment),
                    delegation)
           .ok()) {
    note("'" + other_host + "' is not this machine ('" + os::host_name() + "')");
    return complain(kUsageCode);
  }
  std::string text = "'" + other_host + "' is not this machine: " + delegation.title + " starts the job (" +
                     delegation.path + ")";
  for (size_t i = 0; i < delegation.left_out.size(); ++i) {
    text += (i == 0 ? "; it is not told " : ", ") + delegation.left_out[i];
  }
  note(text);
  if (job.do_not_launch) return 0;
  for (const EnvironmentEdit& edit : delegation.settings) set_variable(variables, edit.name, edit.value);
  os::become_program(delegation.path.c_str(), pointers_to(delegation.command).data(),
                     pointers_to(variables).data());
  note("cannot start " + delegation.path + ": " + std::strerror(errno));
  return 126;
}

}  // namespace

int mpiexec(char** arguments, char** environment) {
  os::fill_standard_descriptors();
  std::vector<std::string> words;
  for (char** word = arguments + 1; *arguments != nullptr && *word != nullptr; ++word)
    words.emplace_back(*word);
  JobSpec job;
  if (!parse_command_line(words, job).ok()) return complain(kUsageCode);
  if (job.show_help) return std::fputs(help_text().c_str(), stdout) < 0 ? 1 : 0;
  if (job.show_man_page) {
    return std::fputs(man_page_text().c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
  }
  if (job.show_version) return std::puts("mpiexec (Hearth MPI) " HEARTH_VERSION) < 0 ? 1 : 0;
  chaos::begin(chaos::Plan::kLauncher, job.chaos);
  if (job.spawned_by >= 0) {
    if (!parent.receive(job.spawned_by, job).ok()) return complain(kUsageCode);
  } else {
    check_variables(job, environment);
  }
  int slots = 0;
  const std::string other = first_other_host(job.hosts, os::host_name(), slots);
  if (!other.empty() && parent.open()) {
    static_cast<void>(
        fail(MPI_ERR_SPAWN,
             "the info key host names '%s', which is another machine. Remedy: leave the key out; "
             "MPI_Comm_spawn starts processes on the machine of its root",
             other.c_str()));
    return complain(kUsageCode);
  }
  if (!other.empty()) return leave_to_others(job, other, environment);
  name_ignored(job);
  if (!parent.open()) name_ignored_profile_folder(job, environment);

  if (!os::check_process_id().ok()) return complain(1);
  // Started before any descriptor or memory exists that the reaper would have to release.
  Reaper reaper;
  if (!reaper.start(arguments).ok()) return complain(1);

  topo::Machine machine;
  if (!find_machine(job, machine).ok()) return complain(kUsageCode);
  fill_in_ranks(job, machine, slots);
  const int ranks = ranks_of(job);
  if (!check_input(job, ranks).ok()) return complain(kUsageCode);
  const int processors = processors_to_share(machine);
  if (!check_room(job, ranks, processors).ok()) return complain(kUsageCode);
  std::vector<Binding> bindings = bind_ranks(machine, job.placement, ranks, processors);
  if (!place_by_traffic(job, machine, bindings).ok()) return complain(kUsageCode);
  if (job.report_bindings) print_bindings(job, machine, bindings);
  if (job.do_not_launch) return 0;
  const bool has_profile = delegate_profile(machine, job);

  shm::Segment segment;
  if (!make_segment(ranks, processors, bindings, segment).ok()) return complain(1);
  // Without an arena, messages use other protocols; `hearth info` shows the reason.
  shm::Arena arena;
  static_cast<void>(shm::Arena::create(static_cast<uint32_t>(ranks), arena).ok());
  JobReport report;
  if (!JobReport::open(job, ranks, report).ok()) return complain(1);
  JobCheck check;
  if (!JobCheck::open(job, ranks, check).ok()) return complain(kUsageCode);
  Job running(job, reaper, segment, arena, report.board(), check, std::move(bindings), parent);
  const int job_code = running.run(environment);
  parent.report(job_code);
  const int code = check.finish(job_code, running.started());
  report.write(job, segment, code);
  if (code == 0) tune_in_background(machine, has_profile, environment);
  return code;
}

}  // namespace hearth::launch
