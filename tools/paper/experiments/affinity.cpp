// Every pair of cores.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"
#include "route.h"

namespace hearth::tools::paper {
namespace affinity {

constexpr size_t kCoresMax = 12;
constexpr uint64_t kShortBytes = 8, kMediumBytes = 65536;
constexpr double kDifferenceMin = 1.25;

std::string curve_name(topo::Relation relation) {
  return topo::relation_name(relation);
}

Status measure(Laboratory& laboratory, Findings& findings) {
  // One processor of each core.
  std::vector<topo::Processor> cores;
  for (const topo::Processor& processor : laboratory.machine().processors()) {
    const bool known = std::any_of(cores.begin(), cores.end(), [&processor](const topo::Processor& other) {
      return topo::relation_of(other.place, processor.place) == topo::Relation::smt;
    });
    if (!known) cores.push_back(processor);
  }
  const size_t step = (cores.size() + kCoresMax - 1) / kCoresMax;
  if (step > 1) {
    findings.notes.push_back(fmt::format("one core of {} was examined", step));
    for (size_t i = 0; i * step < cores.size(); ++i) cores[i] = cores[i * step];
    cores.resize((cores.size() + step - 1) / step);
  }
  const size_t count = cores.size();
  if (count < 2) return nothing_to_measure();
  Matrix latency{"Half a round trip of 8 bytes", "us", {}, std::vector<double>(count * count)};
  Matrix bandwidth{
      "Bandwidth of 64 KiB, up to 64 messages in flight", "GB/s", {}, std::vector<double>(count * count)};
  for (const topo::Processor& core : cores) latency.names.push_back(std::to_string(core.number));
  bandwidth.names = latency.names;
  std::map<topo::Relation, Curve> pairs;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      Samples samples;
      Job job;
      job.processors = {cores[i].number, cores[j].number};
      const std::string rounds = std::to_string(laboratory.rounds(count > 4 ? 5 : 15));
      job.words = {"ways", "latency", std::to_string(kShortBytes), "malloc", rounds, "1000", "-", "latency:"};
      HEARTH_TRY(laboratory.run(job, samples, findings));
      job.words = {"ways", "stream", std::to_string(kMediumBytes), "malloc", rounds, "1000", "-", "stream:"};
      HEARTH_TRY(laboratory.run(job, samples, findings));
      const double ns = tune::median(samples.of("latency", kShortBytes));
      const double each = tune::median(samples.of("stream", kMediumBytes));
      latency.values[i * count + j] = latency.values[j * count + i] = ns / 1e3;
      bandwidth.values[i * count + j] = bandwidth.values[j * count + i] = each > 0 ? kMediumBytes / each : 0;
      Curve& curve = pairs[topo::relation_of(cores[i].place, cores[j].place)];
      const double place = static_cast<double>(curve.points.size() + 1);
      curve.points.push_back({place, tune::median_interval({each > 0 ? kMediumBytes / each : 0})});
    }
  }
  findings.matrices = {latency, bandwidth};
  if (count < 3) {
    findings.missing = "there are two cores, so one pair, and nothing to compare it with";
    return {};
  }
  // Pairs by relation, nearest first, as curves over the pairs' numbers.
  for (auto& [relation, curve] : pairs) {
    curve.name = curve_name(relation);
    findings.numbers[curve.name] = static_cast<double>(relation);
    findings.ratios.push_back(curve);
  }
  return {};
}

std::vector<Judgement> judge(const Findings& findings) {
  double widest = 0, best = 0;
  std::string where, best_name, nearest_name;
  double nearest = 1e9;
  for (const Curve& curve : findings.ratios) {
    double least = 0, most = 0;
    for (const Point& point : curve.points) {
      if (point.value.middle <= 0) continue;
      least = least == 0 ? point.value.middle : std::min(least, point.value.middle);
      most = std::max(most, point.value.middle);
    }
    if (least <= 0) continue;
    if (curve.points.size() > 1 && most / least > widest) {
      widest = most / least;
      where = fmt::format("of {} pairs with relation {} the best reaches {} GB/s, the worst {}: {} times",
                          curve.points.size(), curve.name, three_digits(most), three_digits(least),
                          three_digits(most / least));
    }
    if (most > best) {
      best = most;
      best_name = curve.name;
    }
    if (findings.number(curve.name) < nearest) {
      nearest = findings.number(curve.name);
      nearest_name = curve.name;
    }
  }
  std::vector<Judgement> result;
  result.push_back(where.empty() ? not_measurable("no relation has two pairs")
                                 : confirmed(widest >= kDifferenceMin, where));
  result.push_back(
      findings.ratios.size() < 2
          ? not_measurable("all pairs of cores have the same relation as far as the machine tells")
          : confirmed(best_name != nearest_name,
                      fmt::format("the best pair, with {} GB/s, has relation {}; the nearest relation is {}",
                                  three_digits(best), best_name, nearest_name)));
  return result;
}

constexpr Claim kClaims[] = {
    {"section IV-C, figure 10",
     "Between cores of one memory node too the best and the worst pair differ clearly: what matters is where "
     "on the processor "
     "they are.",
     "confirmed when, of pairs that have the same relation as far as the machine tells, the best reaches "
     "1.25 times the "
     "bandwidth of the worst or more"},
    {"section IV-C, figure 11",
     "Two cores that share the nearest cache do not always have the highest bandwidth: pairs of near tiles "
     "beat pairs on one "
     "tile.",
     "confirmed when the pair with the highest bandwidth does not have the nearest relation"},
};

}  // namespace affinity

extern const Experiment kAffinity = {
    "affinity",
    "Every pair of cores",
    kManycore2018,
    "Two ranks on each pair of cores (12 cores at most, evenly chosen): ping-pong of 8 bytes, and a stream "
    "of 64 KiB. The "
    "matrices have a row and a column for each core, by the system's number of its processor.",
    affinity::kClaims,
    affinity::measure,
    affinity::judge,
};

}  // namespace hearth::tools::paper
