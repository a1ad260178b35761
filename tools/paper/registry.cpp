#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "paper/experiment.h"
#include "pretty.h"

namespace hearth::tools::paper {

const Paper kScalable2006 = {
    "scalable-intranode-2006",
    "Designing High Performance and Scalable MPI Intra-node Communication Support for Clusters",
    "L. Chai, A. Hartono, D. K. Panda, 2006"};
const Paper kMulticore2007 = {"multicore-impact-2007",
                              "Understanding the Impact of Multi-Core Architecture in Cluster Computing: A "
                              "Case Study with Intel Dual-Core System",
                              "L. Chai, Q. Gao, D. K. Panda, 2007"};
const Paper kHybrid2008 = {
    "hybrid-kernel-user-2008",
    "Designing an Efficient Kernel-level and User-level Hybrid Approach for MPI Intra-node "
    "Communication on Multi-core Systems",
    "L. Chai, P. Lai, H.-W. Jin, D. K. Panda, 2008"};
const Paper kOpenMx2009 = {"openmx-single-copy-2009",
                           "High Throughput Intra-Node MPI Communication with Open-MX", "B. Goglin, 2009"};
const Paper kManycore2018 = {
    "manycore-hbm-affinity-2018",
    "Exploring the Performance Impact of Emerging Many-Core Architectures on MPI Communication",
    "J.-Y. Cho, H.-W. Jin, D. Nam, 2018"};

// Each is defined in its file of experiments/.
extern const Experiment kAffinity, kAlltoall, kBottleneck, kBufferReuse, kCacheMisses, kChunks, kDistribution,
    kMemory, kPlacement, kRanks, kRelations, kSkew, kTiling;

namespace {

constexpr const Experiment* kExperiments[] = {
    &kRelations,  &kBufferReuse, &kCacheMisses, &kSkew,     &kRanks,  &kMemory,  &kDistribution,
    &kBottleneck, &kTiling,      &kPlacement,   &kAffinity, &kChunks, &kAlltoall};

}  // namespace

std::span<const Experiment* const> experiments() {
  return kExperiments;
}

const Experiment* find_experiment(const std::string& name) {
  for (const Experiment* experiment : kExperiments)
    if (name == experiment->name) return experiment;
  return nullptr;
}

const char* verdict_words(Verdict verdict) {
  switch (verdict) {
    case Verdict::confirmed:
      return "confirmed";
    case Verdict::not_confirmed:
      return "not confirmed";
    case Verdict::not_measurable:
      break;
  }
  return "not measurable here";
}

std::vector<Judgement> judgements_of(const Experiment& experiment, const Findings& findings) {
  if (!findings.missing.empty()) {
    return std::vector<Judgement>(experiment.claims.size(), not_measurable(findings.missing));
  }
  return experiment.judge(findings);
}

std::string interval_words(const tune::Interval& interval) {
  if (interval.low <= 0 || !std::isfinite(interval.high)) return three_digits(interval.middle);
  return fmt::format("{} ({} to {})", three_digits(interval.middle), three_digits(interval.low),
                     three_digits(interval.high));
}

std::string change_words(const tune::Interval& ratio) {
  const auto percent = [](double value) { return fmt::format("{:+.0f}", 100 * (value - 1)); };
  if (ratio.low <= 0 || !std::isfinite(ratio.high)) return percent(ratio.middle) + " %";
  return fmt::format("{} % ({} to {})", percent(ratio.middle), percent(ratio.low), percent(ratio.high));
}

Judgement confirmed(bool is, std::string because) {
  return {is ? Verdict::confirmed : Verdict::not_confirmed, std::move(because)};
}

Judgement not_measurable(std::string because) {
  return {Verdict::not_measurable, std::move(because)};
}

}  // namespace hearth::tools::paper
