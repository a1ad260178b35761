// Cache misses of two copies and of one: from the processor's counters if available, else from a simulator.
#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "base/os_io.h"
#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace cache_misses {

constexpr const char* kTwo = "two copies";
constexpr const char* kOne = "one copy";
// The difference between the two runs is the cost of the additional windows.
constexpr int kWindowsFew = 2, kWindowsMany = 8, kWindow = 64;

bool is_program(const char* name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  std::error_code error;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::filesystem::exists(std::filesystem::path(folder) / name, error)) return true;
  return false;
}

/// The sum over both ranks' files: misses of the first level and of the simulated second level.
bool read_simulated(const std::filesystem::path& folder, const std::string& prefix, double& first,
                    double& second) {
  first = second = 0;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const std::string text = os::read_text(entry.path().c_str());
    const size_t place = text.rfind("\nsummary:");
    if (place == std::string::npos) continue;
    // Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
    std::istringstream words(text.substr(place + 9));
    double value[9] = {};
    for (double& one : value) words >> one;
    if (!words) continue;
    first += value[4] + value[7];
    second += value[5] + value[8];
    ++files;
  }
  return files == 2;
}

Status simulate(Laboratory& laboratory, const std::string& series, const std::string& settings,
                uint64_t bytes, Samples& samples, Findings& findings) {
  double first[2], second[2];
  for (const bool many : {false, true}) {
    const std::string prefix = fmt::format("{}-{}-{}-", series, bytes, many);
    Job job;
    const std::filesystem::path file = laboratory.scratch(prefix + "%p");
    // The simulated last level has the size of this machine's second level, as in the papers.
    job.wrapper = {"valgrind",
                   "-q",
                   "--tool=cachegrind",
                   "--cache-sim=yes",
                   fmt::format("--LL={:.0f},16,64", laboratory.second_level_bytes()),
                   "--cachegrind-out-file=" + file.string(),
                   "--log-file=/dev/null"};
    job.words = {"counted", std::to_string(bytes), "mpi", std::to_string(many ? kWindowsMany : kWindowsFew),
                 way(series, settings)};
    if (!laboratory.run(job, samples, findings).ok()) {
      findings.missing = std::string("valgrind does not run the program here: ") + last_failure_text();
      return {};
    }
    if (!read_simulated(file.parent_path(), prefix, first[many], second[many])) {
      findings.missing = "the simulator left no counts behind";
      return {};
    }
  }
  const double messages = kWindow * (kWindowsMany - kWindowsFew);
  samples.add(series + "/first_level", static_cast<double>(bytes), (first[1] - first[0]) / messages);
  samples.add(series + "/last_level", static_cast<double>(bytes), (second[1] - second[0]) / messages);
  return {};
}

void add_plots(const Samples& samples, const char* last, Findings& findings) {
  findings.plots = {{"First level", "misses of a message", ""}, {last, "misses of a message", ""}};
  for (const auto& [series, name] : {std::pair<const char*, const char*>{"two", kTwo}, {"one", kOne}}) {
    findings.plots[0].curves.push_back(
        curve_of(samples, std::string(series) + "/first_level", fmt::format("{}, first level", name), 1));
    findings.plots[1].curves.push_back(curve_of(samples, std::string(series) + "/last_level", name, 1));
  }
  findings.ratios = {ratio_of(samples, "one/first_level", "two/first_level", "one copy to two, first level"),
                     ratio_of(samples, "one/last_level", "two/last_level", "one copy to two")};
}

Status measure(Laboratory& laboratory, Findings& findings) {
  // Uses the arena's single copy, whose plain loads a simulator sees too. The kernel's copy is outside of it.
  Job job;
  job.words = {"pairs",
               laboratory.quick() ? "16384" : powers_of_two(8192, 131072),
               "mpi",
               std::to_string(laboratory.rounds(15)),
               "1",
               "counters",
               way("two", buffered_way()),
               way("one", arena_way())};
  Samples counted;
  HEARTH_TRY(laboratory.run(job, counted, findings));
  if (counted.has("two/last_level")) {
    findings.notes.emplace_back(
        "counted by the processor, of both ranks, without the rewriting and checking");
    add_plots(counted, "The level that the processor counts as the last", findings);
    return {};
  }
  if (!is_program("valgrind")) {
    findings.missing =
        "there are no counters (see the note), and valgrind, which could simulate caches, is not installed";
    return {};
  }
  findings.notes.emplace_back(
      "simulated by cachegrind on a reduced run: each process has caches of its own, so what one processor "
      "takes from "
      "another's cache is not seen; rewriting and checking of the messages are counted too");
  Samples simulated;
  for (const uint64_t bytes :
       laboratory.quick() ? std::vector<uint64_t>{16384} : std::vector<uint64_t>{8192, 32768, 131072}) {
    HEARTH_TRY(simulate(laboratory, "two", buffered_way(), bytes, simulated, findings));
    if (findings.missing.empty())
      HEARTH_TRY(simulate(laboratory, "one", arena_way(), bytes, simulated, findings));
    if (!findings.missing.empty()) return {};
  }
  add_plots(simulated, "Second level", findings);
  return {};
}

std::vector<Judgement> judge(const Findings& findings) {
  const Curve& ratio = findings.ratio("one copy to two");
  if (ratio.points.empty()) return {not_measurable("nothing was counted")};
  bool fewer = true;
  std::string words;
  for (const Point& point : ratio.points) {
    fewer = fewer && point.value.middle < 1;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", bytes_text(static_cast<uint64_t>(point.place)),
                         change_words(point.value));
  }
  return {confirmed(fewer, "misses of one copy beside two, by length: " + words)};
}

constexpr Claim kClaims[] = {
    {"section 3.3, figure 4",
     "Copying once misses the second-level cache less often than copying twice at every length, by some 7 % "
     "for long messages, "
     "since no buffer between takes room in it.",
     "confirmed when one copy has fewer misses of the last level examined than two copies, at "
     "every length (median)"},
};

}  // namespace cache_misses

extern const Experiment kCacheMisses = {
    "cache-misses",
    "Cache misses of two copies and of one",
    kHybrid2008,
    "The buffer-reuse experiment with the same 64 buffers, of MPI_Alloc_mem: through bounce buffers, and "
    "copied once "
    "out of the arena. "
    "Misses of both ranks for each message, by the processor's counters; where there are none, cachegrind "
    "simulates the "
    "machine's first and second level on a reduced run, and what runs of 2 and of 8 windows differ by "
    "counts.",
    cache_misses::kClaims,
    cache_misses::measure,
    cache_misses::judge,
};

}  // namespace hearth::tools::paper
