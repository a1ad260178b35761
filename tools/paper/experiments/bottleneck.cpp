// Processes packed together or spread out.
#include <fmt/format.h>

#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"
#include "route.h"

namespace hearth::tools::paper {
namespace bottleneck {

constexpr double kLossMin = 1.05;

std::vector<std::string> words_of(const Laboratory& laboratory, const std::string& name) {
  // Three arrays of this size exceed every second-level cache, and most last-level caches.
  const uint64_t bytes = laboratory.quick() ? 131072 : uint64_t{24} << 20;
  return {"contention", name, std::to_string(bytes), laboratory.quick() ? "2" : "8", "1"};
}

Status measure(Laboratory& laboratory, Findings& findings) {
  const std::vector<RelationPair> pairs = pairs_of(laboratory.machine());
  if (pairs.empty()) return nothing_to_measure();
  const int cores = laboratory.ranks_with_cores(1 << 16);
  std::vector<Job> jobs;
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, int ranks, std::vector<int> processors) {
    Job job;
    job.ranks = ranks;
    job.processors = std::move(processors);
    job.words = words_of(laboratory, name);
    jobs.push_back(std::move(job));
    names.push_back(name);
  };
  add("alone", 1, {pairs.front().a});
  add("packed", 2, {pairs.front().a, pairs.front().b});
  if (pairs.size() > 1) add("spread", 2, {pairs.back().a, pairs.back().b});
  if (cores > 2) add("all", cores, {});
  Samples samples;
  const int rounds = laboratory.rounds(21);
  for (int round = 0; round < rounds; ++round) {
    for (const Job& job : jobs) HEARTH_TRY(laboratory.run(job, samples, findings));
    if (round % 3 == 0)
      for (const Job& job : jobs) laboratory.run_on_peers(job, samples, findings);
  }
  Plot plot{"A step of a program that lives by memory", "ms", "ranks, each with as much to do", true};
  for (const std::string& name : names) plot.curves.push_back(curve_of(samples, name, name, 1e-6));
  for (const Library& peer : laboratory.peers())
    for (const std::string& name : names)
      plot.curves.push_back(curve_of(samples, fmt::format("{}/{}", peer.name, name),
                                     fmt::format("{}, {}", peer.name, name), 1e-6));
  findings.plots = {plot};
  // The places differ, so the values are paired here.
  const std::vector<double>& alone = samples.of("alone", 1);
  for (const std::string& name : names) {
    Samples paired;
    for (const double place : samples.places_of(name)) {
      for (const double value : samples.of(name, place)) paired.add("above", place, value);
      for (const double value : alone) paired.add("below", place, value);
    }
    if (name != "alone") findings.ratios.push_back(ratio_of(paired, "above", "below", name + " to alone"));
  }
  if (samples.has("spread"))
    findings.ratios.push_back(ratio_of(samples, "packed", "spread", "packed to spread"));
  return {};
}

std::vector<Judgement> judge(const Findings& findings) {
  const tune::Interval* packed = findings.ratio("packed to alone").at(2);
  const tune::Interval* spread = findings.ratio("packed to spread").at(2);
  std::vector<Judgement> result;
  if (packed == nullptr) {
    result.push_back(not_measurable("nothing was measured"));
  } else {
    result.push_back(confirmed(
        packed->surely_above(kLossMin),
        fmt::format("with its nearest neighbour at work too a process takes {} times as long as alone",
                    interval_words(*packed))));
  }
  if (spread == nullptr) {
    result.push_back(not_measurable(
        "all processors of this machine are equally far from each other as far as it tells, so "
        "processes cannot be spread"));
  } else {
    result.push_back(
        confirmed(spread->surely_above(kLossMin),
                  fmt::format("packed takes {} times as long as spread", interval_words(*spread))));
  }
  return result;
}

constexpr Claim kClaims[] = {
    {"section 5.3, figure 5",
     "When all cores work, they are in each other's way at the caches and the memory controller, and a "
     "program that lives by "
     "memory runs slower.",
     "confirmed when two processes on nearest neighbours take surely 5 % longer for a step than one that is "
     "alone, each having "
     "as much to do"},
    {"section 5.3, figure 6",
     "Two processes on one chip run slower than two on different chips, which have caches and memory paths "
     "of their own.",
     "confirmed when two processes on nearest neighbours take surely 5 % longer for a step than two on the "
     "farthest pair"},
};

}  // namespace bottleneck

extern const Experiment kBottleneck = {
    "bottleneck",
    "Processes packed together or spread out",
    kMulticore2007,
    "Each process goes through three arrays of 24 MiB and gives 64 KiB to a neighbour, step after step: one "
    "process alone, two "
    "on the nearest pair of processors, two on the farthest, and one on every core. Jobs of all kinds take "
    "turns. The paper "
    "ran NAS, HPL and NAMD; this is one kernel in their place.",
    bottleneck::kClaims,
    bottleneck::measure,
    bottleneck::judge,
};

}  // namespace hearth::tools::paper
