#include "paper/laboratory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/os_io.h"
#include "base/os_process.h"
#include "base/param.h"
#include "facts.h"
#include "mpi.h"
#include "program_lines.h"

namespace hearth::tools::paper {
namespace {

constexpr int kJobSecondsMax = 120;
// "Never" as a length that fits into a control variable.
constexpr uint64_t kNever = uint64_t{1} << 60;
// Variables that a surrounding job or shell may have set for one library and that would affect another one.
constexpr const char* kForeign[] = {"LD_LIBRARY_PATH", "LD_PRELOAD", "I_MPI_ROOT", "OPAL_PREFIX",
                                    "MPICH_CC",        "OMPI_CC",    "I_MPI_CC",   "HEARTH_CC"};

std::string name_of(param::Id id) {
  return param::rows()[static_cast<size_t>(id)].name;
}

/// Parses the size in /sys ("1024K"); 0 if the file is missing.
double cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    if (std::atoi(os::read_text((folder + "level").c_str()).c_str()) != level) continue;
    const std::string size = os::read_text((folder + "size").c_str());
    const double number = std::atof(size.c_str());
    if (size.find('M') != std::string::npos) return number * 1048576;
    return size.find('K') != std::string::npos ? number * 1024 : number;
  }
  return 0;
}

Status text_of(const std::vector<std::string>& command, std::string& text) {
  text.clear();
  return for_each_line(command, [&text](const std::string& line) {
    text += line;
    return true;
  });
}

/// Settings that force one protocol for all long messages.
std::string forced(uint64_t arena_bytes_min, uint64_t single_copy_bytes_min) {
  return fmt::format("{}={} {}={} {}={} {}=0", name_of(param::Id::p2p_arena_bytes_min), arena_bytes_min,
                     name_of(param::Id::p2p_single_copy_bytes_min), single_copy_bytes_min,
                     name_of(param::Id::p2p_single_copy_measured_bytes_min), kNever,
                     name_of(param::Id::p2p_skew));
}

}  // namespace

std::string buffered_way() {
  return forced(kNever, kNever);
}

std::string kernel_way() {
  return forced(kNever, 0);
}

std::string arena_way() {
  return forced(0, kNever);
}

std::string way(const std::string& name, const std::string& settings) {
  return name + ":" + settings;
}

std::string powers_of_two(uint64_t first, uint64_t last, int step) {
  std::string words;
  for (uint64_t bytes = first; bytes <= last; bytes <<= step)
    words += fmt::format("{}{}", words.empty() ? "" : ",", bytes);
  return words;
}

Laboratory::Laboratory(topo::Machine machine, const Installation& place, bool quick)
    : machine_(std::move(machine)),
      place_(place),
      quick_(quick),
      kernel_copy_refusal_(single_copy_refusal()) {
  ours_ = {"Hearth", Library::Launcher::hearth, place.launcher, place.paper_probe.parent_path()};
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  folder_ =
      (error ? std::filesystem::path("/tmp") : temporary) / fmt::format("hearth-paper-{}", os::process_id());
}

Laboratory::~Laboratory() {
  if (cleaner_ <= 0) return;
  life_ = os::Descriptor();
  os::reap(cleaner_);
}

// A separate process removes the folder, even if a signal ends this process.
void Laboratory::start_cleaner() {
  os::Pipe pipe;
  if (!os::make_pipe(pipe)) return;
  cleaner_ = os::fork_process();
  if (cleaner_ < 0) return;
  if (cleaner_ == 0) {
    char* no_arguments = nullptr;
    os::become_detached(pipe.read_end.number(), "hearth-cleaner", &no_arguments);
    char byte;
    while (os::read_some(pipe.read_end.number(), &byte, 1) > 0) {
    }
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    os::end_process(0);
  }
  life_ = std::move(pipe.write_end);
}

std::filesystem::path Laboratory::scratch(const std::string& name) {
  if (cleaner_ == 0) start_cleaner();
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  return folder_ / name;
}

std::pair<double, double> Laboratory::memory_by_formula(int ranks) const {
  const Json row = memory_facts(static_cast<uint32_t>(ranks))["memory"][0];
  return {row["job_all_to_all_bytes"].get<double>(), row["job_original_design_bytes"].get<double>()};
}

int Laboratory::ranks_with_cores(int most) const {
  return std::max(2, std::min(most, machine_.core_count()) / 2 * 2);
}

double Laboratory::second_level_bytes() const {
  const double bytes = cache_bytes(2);
  return bytes > 0 ? bytes : 1048576;
}

double Laboratory::last_level_bytes() const {
  return std::max(cache_bytes(3), second_level_bytes());
}

Status Laboratory::add_peer(const std::filesystem::path& prefix) {
  const std::filesystem::path mpiexec = std::filesystem::absolute(prefix) / "bin" / "mpiexec";
  const std::filesystem::path mpicc = std::filesystem::absolute(prefix) / "bin" / "mpicc";
  for (const std::filesystem::path& needed : {mpiexec, mpicc}) {
    if (!std::filesystem::exists(needed))
      return fail(MPI_ERR_OTHER, "no MPI library in '%s': there is no %s", prefix.c_str(), needed.c_str());
  }
  Library library;
  library.mpiexec = mpiexec;
  // Intel's library in a module or in a virtual environment needs this to find its files.
  const bool intel = std::filesystem::exists(prefix / "lib" / "libmpi_ilp64.so") ||
                     std::filesystem::exists(prefix / "bin" / "impi_info");
  if (intel)
    library.environment = {{"I_MPI_ROOT", std::filesystem::absolute(prefix).string()},
                           {"I_MPI_PIN_DOMAIN", "core"}};
  std::vector<std::string> question = {"env"};
  for (const char* name : kForeign) question.insert(question.end(), {"-u", name});
  for (const auto& [name, value] : library.environment) question.push_back(name + "=" + value);
  std::vector<std::string> build = question;
  question.insert(question.end(), {mpiexec.string(), "--version"});
  std::string version;
  HEARTH_TRY(text_of(question, version));
  const bool open_mpi =
      version.find("Open MPI") != std::string::npos || version.find("OpenRTE") != std::string::npos ||
      version.find("prun") != std::string::npos || version.find("PRRTE") != std::string::npos;
  const bool hearth = version.find("Hearth") != std::string::npos;
  library.launcher = hearth     ? Library::Launcher::hearth
                     : open_mpi ? Library::Launcher::open_mpi
                                : Library::Launcher::hydra;
  library.name = hearth ? "other Hearth" : open_mpi ? "Open MPI" : intel ? "Intel MPI" : "MPICH";
  library.yields = hearth || open_mpi || intel;
  for (const Library& other : peers_)
    if (other.name == library.name) library.name += fmt::format(" {}", peers_.size() + 1);
  library.programs = scratch(fmt::format("peer-{}", peers_.size()));
  std::error_code error;
  std::filesystem::create_directories(library.programs, error);
  // All libraries get the same sources and the same flags.
  const std::string sources = (place_.root / "share" / "hearth" / "bench").string();
  const std::string common =
      "driver/buffer.c driver/collective.c driver/floor.c driver/measure.c driver/pingpong.c "
      "driver/together.c settings.c";
  const std::string paper = "paper/*.c driver/stream.c";
  for (const auto& [program, files] :
       {std::pair<std::string, std::string>{"paper_probe", paper}, {"skew_probe", "skew_probe.c"}}) {
    std::vector<std::string> words = build;
    words.insert(
        words.end(),
        {"sh", "-c", "cd \"$1\" && \"$2\" -O2 -g -std=gnu11 " + common + " " + files + " -lm -o \"$3\"",
         "build", sources, mpicc.string(), (library.programs / program).string()});
    std::string output;
    HEARTH_TRY(text_of(words, output));
  }
  peers_.push_back(std::move(library));
  return {};
}

std::vector<std::string> Laboratory::command_of(const Library& library, const Job& job,
                                                const std::vector<std::string>& program) const {
  std::vector<std::string> words = {"env"};
  if (&library != &ours_)
    for (const char* name : kForeign) words.insert(words.end(), {"-u", name});
  for (const auto& [name, value] : library.environment) words.push_back(name + "=" + value);
  for (const auto& [name, value] : job.environment) words.push_back(name + "=" + value);
  if (library.launcher == Library::Launcher::hearth) words.emplace_back("HEARTH_AUTO_TUNE=no");
  // A job that hangs is killed with all of its processes.
  words.insert(words.end(), {"timeout", "--foreground", "--kill-after=5", std::to_string(kJobSecondsMax)});
  if (!job.processors.empty())
    words.insert(words.end(), {"taskset", "-c", fmt::format("{}", fmt::join(job.processors, ","))});
  words.push_back(library.mpiexec.string());
  const size_t processors = job.processors.empty() ? machine_.processors().size() : job.processors.size();
  const bool crowded = static_cast<size_t>(job.ranks) > processors;
  switch (library.launcher) {
    case Library::Launcher::hearth:
      if (crowded) words.emplace_back("--oversubscribe");
      if (!job.processors.empty()) words.insert(words.end(), {"--bind-to", "hwthread"});
      words.insert(words.end(), job.launcher_options.begin(), job.launcher_options.end());
      break;
    case Library::Launcher::hydra:
      if (!crowded) words.insert(words.end(), {"-bind-to", "core"});
      break;
    case Library::Launcher::open_mpi:
      words.insert(words.end(),
                   {"--allow-run-as-root", "--oversubscribe", "--bind-to", crowded ? "none" : "core"});
      break;
  }
  words.insert(words.end(), {"-n", std::to_string(job.ranks)});
  words.insert(words.end(), job.wrapper.begin(), job.wrapper.end());
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

Status Laboratory::run_application(const Job& job) {
  ++jobs_;
  return for_each_line(command_of(ours_, job, application), [](const std::string& line) {
    fmt::print(stderr, "{}", line);
    return true;
  });
}

Status Laboratory::run(const Library& library, const Job& job, Samples& samples, Findings& findings) {
  const std::string prefix = &library == &ours_ ? "" : library.name + "/";
  ++jobs_;
  const char* name = job.program == Program::paper_probe ? "paper_probe" : "skew_probe";
  std::vector<std::string> program = {(library.programs / name).string()};
  program.insert(program.end(), job.words.begin(), job.words.end());
  return for_each_line(command_of(library, job, program), [&](const std::string& text) {
    std::string line = text;
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    char series[256];
    double place, value;
    if (std::sscanf(line.c_str(), "value %255s %lf %lf", series, &place, &value) == 3) {
      samples.add(prefix + series, place, value);
    } else if (std::sscanf(line.c_str(), "block %lf %255s %lf", &place, series, &value) == 3) {
      samples.add(prefix + series, place, value);
    } else if (std::sscanf(line.c_str(), "floor %lf", &value) == 1 ||
               std::sscanf(line.c_str(), "end %lf", &value) == 1) {
      if (value > 0) floors_.push_back(value);
    } else if (std::sscanf(line.c_str(), "copy %lf", &value) == 1) {
      if (prefix.empty()) findings.numbers["copy_ns"] = value;
    } else if (line.starts_with("library ")) {
      versions_[library.name] = line.substr(std::strlen("library "));
    } else if (line.starts_with("note ")) {
      const std::string note = line.substr(std::strlen("note "));
      if (std::find(findings.notes.begin(), findings.notes.end(), note) == findings.notes.end())
        findings.notes.push_back(note);
    } else {
      return false;
    }
    return true;
  });
}

void Laboratory::run_on_peers(const Job& job, Samples& samples, Findings& findings) {
  const int processors = static_cast<int>(machine_.processors().size());
  for (const Library& peer : peers_) {
    if (job.ranks > processors && !peer.yields) {
      findings.notes.push_back(fmt::format("{}: not with {} ranks on {} processors, where it takes minutes",
                                           peer.name, job.ranks, processors));
      continue;
    }
    if (!run(peer, job, samples, findings).ok())
      findings.notes.push_back(fmt::format("{}: {}", peer.name, last_failure_text()));
  }
}

}  // namespace hearth::tools::paper
