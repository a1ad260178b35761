#include "tune_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/os_wait.h"
#include "pretty.h"
#include "tune/search.h"
#include "tune/threshold.h"
#include "tune_job.h"
#include "tune_plan.h"
#include "tune_words.h"

namespace hearth::tools {
namespace {

constexpr int kCollectiveLimitS = 300;

/// The last place of `below`. No more than the last measured place, because nothing is known beyond it.
uint64_t limit_of(const CollectiveDivision& division, uint64_t from) {
  if (from == tune::kNever) return division.places.back();
  return std::max(from, division.places.front()) - 1;
}

/// Measures one limit.
class CollectiveTuner {
 public:
  CollectiveTuner(const CollectiveDivision& division, uint64_t question_us, Progress& progress)
      : division_(division), question_us_(question_us), progress_(progress) {}

  Status run(const Installation& place, tune::Profile& profile) {
    HEARTH_TRY(job_.start_collective(place, division_.ranks, kCollectiveLimitS));
    Status status;
    const tune::Crossover found =
        tune::find_crossover(tune::coarse_lengths(division_.places), division_.places,
                             standard_of(division_.limit) + 1, [&](uint64_t at) -> tune::Comparison {
                               tune::Comparison answer = tune::judge(at, {});
                               if (status.ok()) status = ask(at, answer);
                               return answer;
                             });
    HEARTH_TRY(status);
    profile.findings.push_back(finding_of(found));
    if (division_.by_ranks) return {};  // curves are by length only
    profile.curves.push_back(curve_of(found, division_.below_name, &tune::Comparison::a_ns));
    profile.curves.push_back(curve_of(found, division_.above_name, &tune::Comparison::b_ns));
    return {};
  }

 private:
  std::string place_text(uint64_t at) const {
    return division_.by_ranks ? fmt::format("{} ranks", at) : bytes_text(at);
  }

  Status ask(uint64_t at, tune::Comparison& answer) {
    progress_.show(
        fmt::format("{} against {}, {}", division_.above_name, division_.below_name, place_text(at)));
    CollectiveQuestion question = {at, division_.ranks, division_.below, division_.above, question_us_};
    if (division_.by_ranks) {
      question.bytes = sizeof(double);
      question.ranks = static_cast<int>(at);
    }
    HEARTH_TRY(job_.ask(question, answer));
    answer.bytes = at;
    progress_.step();
    return {};
  }

  tune::Finding finding_of(const tune::Crossover& found) const {
    const tune::Comparison& at = clearest(found.measured);
    const std::string clear =
        fmt::format("{} takes {}{}", division_.above_name, ratio_text(at, place_text(at.bytes)),
                    division_.by_ranks ? "" : fmt::format(", {} ranks", division_.ranks));
    tune::Finding finding = {division_.limit, std::nullopt, {}, ""};
    if (!found.from_bytes) {
      finding.text = "no other value is better for sure; " + clear;
      return finding;
    }
    finding.value = limit_of(division_, *found.from_bytes);
    finding.text = *found.from_bytes == tune::kNever
                       ? fmt::format("{} is nowhere better; {}", division_.above_name, clear)
                       : fmt::format("{} is better from {} on; {}", division_.above_name,
                                     place_text(*finding.value + 1), clear);
    return finding;
  }

  static tune::Curve curve_of(const tune::Crossover& found, const char* name, double tune::Comparison::*ns) {
    tune::Curve curve = {std::nullopt, name, {}};
    for (const tune::Comparison& at : found.measured) curve.points.emplace_back(at.bytes, std::round(at.*ns));
    return curve;
  }

  const CollectiveDivision& division_;
  const uint64_t question_us_;
  Progress& progress_;
  TuneJob job_;
};

}  // namespace

uint64_t standard_of(param::Id limit) {
  int64_t number = 0;
  static_cast<void>(param::parse(limit, param::rows()[static_cast<size_t>(limit)].standard, number));
  return static_cast<uint64_t>(number);
}

size_t collective_questions(int processors) {
  size_t sum = 0;
  for (const CollectiveDivision& division : collective_divisions(processors)) {
    if (!division.places.empty()) sum += tune::coarse_lengths(division.places).size() + 2;
  }
  return sum;
}

Status tune_collectives(const Installation& place, int processors, uint64_t question_us, uint64_t deadline_ns,
                        Progress& progress, tune::Profile& profile) {
  for (const CollectiveDivision& division : collective_divisions(processors)) {
    const bool late = os::now_ns() > deadline_ns;
    if (division.places.empty() || late) {
      profile.findings.push_back(
          {division.limit, std::nullopt, std::nullopt,
           division.places.empty()
               ? fmt::format("not measured: fewer than {} processors", division.processors_min)
               : "not measured: the time was over"});
      continue;
    }
    CollectiveTuner tuner(division, question_us, progress);
    HEARTH_TRY(tuner.run(place, profile));
  }
  return {};
}

}  // namespace hearth::tools
