#include "tune.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "base/os_io.h"
#include "base/os_machine.h"
#include "base/os_process.h"
#include "base/os_socket.h"
#include "base/os_wait.h"
#include "chart.h"
#include "idleness.h"
#include "installation.h"
#include "mpi.h"
#include "output_file.h"
#include "pretty.h"
#include "progress.h"
#include "route.h"
#include "tune/profile.h"
#include "tune/search.h"
#include "tune_collectives.h"
#include "tune_job.h"
#include "tune_plan.h"
#include "tune_words.h"

namespace hearth::tools {
namespace {

// Time for all questions; starting and ending the jobs takes additional time.
constexpr uint64_t kTimeUs = 100'000'000, kQuickTimeUs = 6'000'000, kBackgroundTimeUs = 4'000'000;
constexpr uint64_t kQuestionUsMin = 10'000, kQuestionUsMax = 400'000, kQuickQuestionUsMax = 120'000;
// A single question may take six rounds of slow messages: after this time, the remaining thresholds keep
// their defaults.
constexpr uint64_t kDeadlineNs = 110'000'000'000, kQuickDeadlineNs = 12'000'000'000,
                   kBackgroundDeadlineNs = 7'000'000'000;
// Hard limit for one job.
constexpr int kPairLimitS = 300, kBackgroundPairLimitS = 9;
constexpr uint64_t kQuickBytesMax = uint64_t{4} << 20;

std::string length_text(uint64_t bytes) {
  return bytes == tune::kNever ? "never" : bytes_text(bytes);
}

std::vector<uint64_t> fine_lengths_of(const Division& division, bool quick) {
  const uint64_t most = quick ? std::min(division.to_bytes, kQuickBytesMax) : division.to_bytes;
  return tune::fine_lengths(division.from_bytes, most);
}

// Every coarse length, and two more to bisect between a pair of them.
size_t questions_of(const Division& division, bool quick) {
  return tune::coarse_lengths(fine_lengths_of(division, quick)).size() + 2;
}

size_t questions_per_relation(bool quick) {
  size_t sum = 0;
  for (const Division& division : divisions()) {
    if (!quick || division.quick) sum += questions_of(division, quick);
  }
  if (quick) return sum;
  for (const Choice& choice : choices()) sum += choice.values.size() * choice.lengths.size();
  return sum;
}

/// Measures one pair of processors.
class Tuner {
 public:
  Tuner(const TuneOptions& options, const RelationPair& pair, uint64_t question_us, uint64_t deadline_ns,
        Progress& progress, tune::Profile& profile)
      : options_(options),
        pair_(pair),
        question_us_(question_us),
        deadline_ns_(deadline_ns),
        progress_(progress),
        profile_(profile) {}

  Status run(const Installation& place) {
    HEARTH_TRY(
        job_.start(place, pair_.a, pair_.b, options_.background ? kBackgroundPairLimitS : kPairLimitS));
    if (!options_.quick) {
      for (const Choice& choice : choices()) HEARTH_TRY(choose(choice));
    }
    for (const Division& division : divisions()) {
      if (!options_.quick || division.quick) HEARTH_TRY(divide(division));
    }
    return {};
  }

 private:
  bool late() const { return os::now_ns() > deadline_ns_; }

  void show(const std::string& what, uint64_t bytes) {
    progress_.show(fmt::format("{}: {}, {}", topo::relation_name(pair_.relation), what, bytes_text(bytes)));
  }

  Status ask(const Question& question, const std::string& what, tune::Comparison& answer) {
    show(what, question.bytes);
    if (options_.background && disturbance_.sample())
      return fail(MPI_ERR_OTHER, "others use the machine now, so nothing is written");
    HEARTH_TRY(job_.ask(question, answer));
    progress_.step();
    return {};
  }

  std::vector<Setting> with_found(const std::vector<Setting>& settings) const {
    std::vector<Setting> result = settings;
    for (const Setting& found : found_) {
      const bool named = std::any_of(settings.begin(), settings.end(), [&found](const Setting& setting) {
        return setting.parameter == found.parameter;
      });
      if (!named) result.push_back(found);
    }
    return result;
  }

  uint64_t standard(param::Id parameter) const {
    for (const tune::Threshold& threshold : tune::thresholds()) {
      if (threshold.parameter == parameter) return threshold.standard[static_cast<size_t>(pair_.relation)];
    }
    return 0;
  }

  void record(param::Id parameter, std::optional<uint64_t> value, const std::string& text) {
    profile_.findings.push_back({parameter, pair_.relation, value, text});
    if (value) found_.push_back({parameter, *value});
  }

  Status choose(const Choice& choice) {
    const uint64_t usual = standard(choice.threshold);
    const std::string name = param::rows()[static_cast<size_t>(choice.threshold)].name;
    std::vector<tune::Candidate> candidates;
    for (const uint64_t value : choice.values) {
      if (value == usual) continue;
      if (late()) return skip(choice.threshold);
      tune::Candidate candidate = {value, {}};
      for (const uint64_t bytes : choice.lengths) {
        Question question = {bytes, false, with_found(choice.settings), {}, question_us_};
        question.b = question.a;
        question.b.push_back({choice.threshold, value});
        tune::Comparison answer;
        HEARTH_TRY(ask(question, fmt::format("{} of {}", name, value), answer));
        candidate.measured.push_back(answer);
      }
      candidates.push_back(std::move(candidate));
    }
    const tune::Candidate* best = tune::find_best(candidates);
    if (best != nullptr) {
      record(choice.threshold, best->value,
             fmt::format("{:.2f} of the time with {}, clearest {}", best->mean_ratio(), usual,
                         ratio_text(clearest(best->measured))));
      return {};
    }
    std::string tried;
    for (const tune::Candidate& candidate : candidates)
      tried +=
          fmt::format("{}{}: {:.2f}", tried.empty() ? "" : ", ", candidate.value, candidate.mean_ratio());
    record(choice.threshold, std::nullopt, "no other value is better for sure (of its time " + tried + ")");
    return {};
  }

  Status skip(param::Id parameter) {
    record(parameter, std::nullopt, "not measured: the time was over");
    return {};
  }

  Status divide(const Division& division) {
    if (late()) return skip(division.threshold);
    const std::string what = fmt::format("{} against {}", division.above.name, division.below.name);
    const std::vector<uint64_t> fine = fine_lengths_of(division, options_.quick);
    const uint64_t usual = standard(division.threshold);
    const uint64_t usual_from = division.is_last_below && usual != tune::kNever ? usual + 1 : usual;
    Status status;
    const tune::Crossover found = tune::find_crossover(
        tune::coarse_lengths(fine), fine, usual_from, [&](uint64_t bytes) -> tune::Comparison {
          tune::Comparison answer = tune::judge(bytes, {});
          const Question question = {bytes, division.from_mpi, with_found(division.below.settings),
                                     with_found(division.above.settings), question_us_};
          if (status.ok()) status = ask(question, what, answer);
          return answer;
        });
    HEARTH_TRY(status);
    add_curves(division, found.measured);
    const std::string clear =
        fmt::format("{} takes {}", division.above.name, ratio_text(clearest(found.measured)));
    if (!found.from_bytes) {
      record(division.threshold, std::nullopt, fmt::format("no other value is better for sure; {}", clear));
      return {};
    }
    record(division.threshold, threshold_of(division, *found.from_bytes),
           *found.from_bytes == tune::kNever
               ? fmt::format("{} is not better at any length; {}", division.above.name, clear)
               : fmt::format("{} is better from {} on; {}", division.above.name,
                             length_text(*found.from_bytes), clear));
    return {};
  }

  static uint64_t threshold_of(const Division& division, uint64_t from_bytes) {
    if (!division.is_last_below || from_bytes == tune::kNever) return from_bytes;
    return from_bytes == 0 ? 0 : from_bytes - 1;
  }

  void add_curves(const Division& division, const std::vector<tune::Comparison>& measured) {
    tune::Curve below = {pair_.relation, division.below.name, {}};
    tune::Curve above = {pair_.relation, division.above.name, {}};
    for (const tune::Comparison& at : measured) {
      below.points.emplace_back(at.bytes, std::round(at.a_ns));
      above.points.emplace_back(at.bytes, std::round(at.b_ns));
    }
    profile_.curves.push_back(std::move(below));
    profile_.curves.push_back(std::move(above));
  }

  const TuneOptions& options_;
  const RelationPair pair_;
  const uint64_t question_us_, deadline_ns_;
  Progress& progress_;
  tune::Profile& profile_;
  TuneJob job_;
  Disturbance disturbance_;
  std::vector<Setting> found_;
};

/// The relation of a finding or a curve, as text.
std::string shared_by(std::optional<topo::Relation> relation) {
  return relation ? topo::relation_name(*relation) : "any";
}

std::string panel_title(std::optional<topo::Relation> relation) {
  return relation ? "both share: " + shared_by(relation) : "allreduce";
}

bool divides_lengths(param::Id parameter) {
  return parameter == param::Id::coll_whole_bytes_max ||
         std::any_of(divisions().begin(), divisions().end(),
                     [parameter](const Division& division) { return division.threshold == parameter; });
}

std::string profile_chart(const tune::Profile& profile) {
  std::vector<Panel> panels;
  for (const tune::Curve& curve : profile.curves) {
    const std::string title = panel_title(curve.relation);
    if (panels.empty() || panels.back().title != title)
      panels.push_back({title, curve.relation ? "us per message" : "us", {}});
    Series series = {curve.name, {}};
    for (const auto& [bytes, ns] : curve.points) series.points.emplace_back(bytes, ns / 1e3);
    panels.back().series.push_back(std::move(series));
  }
  for (const tune::Finding& finding : profile.findings) {
    if (!divides_lengths(finding.parameter) || !finding.value) continue;
    if (*finding.value == tune::kNever || *finding.value == 0) continue;
    const std::string title = panel_title(finding.relation);
    const auto panel =
        std::find_if(panels.begin(), panels.end(), [&title](const Panel& p) { return p.title == title; });
    if (panel != panels.end())
      panel->marks.emplace_back(static_cast<double>(*finding.value), bytes_text(*finding.value));
  }
  return draw_chart("Hearth on " + profile.machine.processor, panels);
}

void print_table(const tune::Profile& profile) {
  TextTable table({"both share", "threshold", "value", "default", "what was measured"});
  const std::vector<param::Row> rows = param::rows();
  for (const tune::Finding& finding : profile.findings) {
    const param::Row& row = rows[static_cast<size_t>(finding.parameter)];
    const tune::Threshold* threshold = tune::find_threshold(row.name);
    const uint64_t usual = finding.relation ? threshold->standard[static_cast<size_t>(*finding.relation)]
                                            : standard_of(finding.parameter);
    const auto text = [](uint64_t value) {
      return value == tune::kNever ? std::string("never") : std::to_string(value);
    };
    table.add({shared_by(finding.relation), row.name, finding.value ? text(*finding.value) : "default",
               text(usual), finding.text});
  }
  fmt::print("{}", table.text(0));
}

/// The largest number of ranks with a processor each.
int processors_of(const topo::Machine& machine) {
  const auto usable = static_cast<int>(machine.processors().size());
  const int quota = os::quota_processors();
  return quota > 0 ? std::min(usable, quota) : usable;
}

Status measure(const TuneOptions& options, const Installation& place, const std::vector<RelationPair>& pairs,
               int processors, tune::Profile& profile) {
  const size_t questions = questions_per_relation(options.quick) * pairs.size() +
                           (options.quick ? 0 : collective_questions(processors));
  const uint64_t time_us = options.background ? kBackgroundTimeUs : options.quick ? kQuickTimeUs : kTimeUs;
  const uint64_t question_us =
      std::clamp(time_us / questions, kQuestionUsMin, options.quick ? kQuickQuestionUsMax : kQuestionUsMax);
  const uint64_t deadline_ns = os::now_ns() + (options.background ? kBackgroundDeadlineNs
                                               : options.quick    ? kQuickDeadlineNs
                                                                  : kDeadlineNs);
  Progress progress(questions);
  for (const RelationPair& pair : pairs) {
    Tuner tuner(options, pair, question_us, deadline_ns, progress, profile);
    HEARTH_TRY(tuner.run(place));
  }
  if (options.quick) return {};
  return tune_collectives(place, processors, question_us, deadline_ns, progress, profile);
}

/// Held during a measurement in the background. The name is no file, so nothing is left behind after a crash.
Status be_the_only_one(os::Descriptor& held) {
  held = os::listen_under_name("hearth-tune-" + std::to_string(os::own_user()));
  return held.open() ? Status() : fail(MPI_ERR_OTHER, "another one is measuring");
}

// check_writable() has made it if it was missing.
void remove_empty_folder_of(const std::string& file) {
  std::error_code error;
  std::filesystem::remove(std::filesystem::path(file).parent_path(), error);
}

Status disturb_nobody(const std::string& output, os::Descriptor& held) {
  os::lower_priority();
  HEARTH_TRY(be_the_only_one(held));
  if (os::path_exists(output.c_str())) return fail(MPI_ERR_OTHER, "'%s' is there", output.c_str());
  return machine_is_idle() ? Status() : fail(MPI_ERR_OTHER, "the machine is not idle");
}

}  // namespace

Status run_tune(const TuneOptions& options) {
  Installation place;
  HEARTH_TRY(find_installation(place));
  os::Descriptor held;
  const std::string output = options.output_file.empty() ? tune::own_profile_path() : options.output_file;
  if (output.empty()) {
    return fail(MPI_ERR_ARG,
                "there is no place for the profile: neither XDG_CACHE_HOME nor HOME names a folder. Remedy: "
                "--output FILE, and HEARTH_PROFILE=FILE for the jobs that are to use it");
  }
  if (options.background) HEARTH_TRY(disturb_nobody(output, held));
  // Before measuring, which takes long.
  for (const std::string& name : {output, options.plot_file}) {
    if (!name.empty()) HEARTH_TRY(check_writable(name));
  }
  const topo::Machine machine = topo::Machine::discover();
  const std::vector<RelationPair> pairs = pairs_of(machine);
  if (pairs.empty()) return nothing_to_measure();
  tune::Profile profile;
  profile.made = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)));
  profile.made_by = std::string("hearth tune") +
                    (options.background ? " --background"
                     : options.quick    ? " --quick"
                                        : "") +
                    ", version " HEARTH_VERSION;
  profile.machine = tune::MachineIdentity::of(machine);
  const Status measured = measure(options, place, pairs, processors_of(machine), profile);
  if (!measured.ok() && options.background) remove_empty_folder_of(output);
  HEARTH_TRY(measured);
  HEARTH_TRY(write_file(output, tune::profile_text(profile)));
  if (!options.plot_file.empty()) HEARTH_TRY(write_file(options.plot_file, profile_chart(profile)));
  if (output == "-" || options.background) return {};
  print_table(profile);
  fmt::print("\nwritten to {}\n", output);
  return {};
}

}  // namespace hearth::tools
