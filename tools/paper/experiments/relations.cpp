// Latency and bandwidth by the relation of two ranks.
#include <fmt/format.h>

#include <algorithm>

#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"
#include "route.h"

namespace hearth::tools::paper {
namespace relations {

constexpr double kShortBytes = 8;

std::string latency_of(topo::Relation relation) {
  return fmt::format("latency, {}", topo::relation_name(relation));
}
std::string bandwidth_of(topo::Relation relation) {
  return fmt::format("bandwidth, {}", topo::relation_name(relation));
}

void add_curves(const Samples& latency, const Samples& stream, const std::string& series,
                const std::string& name, const std::string& relation, Findings& findings) {
  findings.plots[0].curves.push_back(
      curve_of(latency, series, fmt::format("latency, {}{}", name, relation), 1e-3));
  findings.plots[1].curves.push_back(
      paper::bandwidth_of(stream, series, fmt::format("bandwidth, {}{}", name, relation), 1));
}

Status measure(Laboratory& laboratory, Findings& findings) {
  const std::vector<RelationPair> pairs = pairs_of(laboratory.machine());
  if (pairs.empty()) return nothing_to_measure();
  findings.plots = {{"Half a round trip", "us", ""}, {"Bandwidth, up to 64 messages in flight", "GB/s", ""}};
  const std::string lengths = laboratory.quick() ? "8,65536" : powers_of_two(8, 4 << 20, 1);
  for (const RelationPair& pair : pairs) {
    Job job;
    job.processors = {pair.a, pair.b};
    Samples latency, stream;
    const std::string rounds = std::to_string(laboratory.rounds(15));
    for (auto& [what, samples] :
         {std::pair<const char*, Samples*>{"latency", &latency}, {"stream", &stream}}) {
      job.words = {"ways", what, lengths, "malloc", rounds, "1000", "-", "Hearth:"};
      HEARTH_TRY(laboratory.run(job, *samples, findings));
      laboratory.run_on_peers(job, *samples, findings);
    }
    const std::string relation = topo::relation_name(pair.relation);
    add_curves(latency, stream, "Hearth", "", relation, findings);
    for (const Library& peer : laboratory.peers())
      add_curves(latency, stream, peer.name + "/Hearth", peer.name + ", ", relation, findings);
    findings.numbers[relation] = static_cast<double>(pair.relation);
  }
  if (pairs.size() == 1) {
    findings.missing = fmt::format(
        "all processors of this machine are equally far from each other as far as it tells ({}), so there is "
        "nothing to "
        "compare",
        topo::relation_name(pairs[0].relation));
  }
  return {};
}

double peak_of(const Curve& curve) {
  double peak = 0;
  for (const Point& point : curve.points) peak = std::max(peak, point.value.middle);
  return peak;
}

std::vector<Judgement> judge(const Findings& findings) {
  std::vector<std::pair<double, std::string>> relations;
  for (const auto& [name, number] : findings.numbers) relations.emplace_back(number, name);
  std::sort(relations.begin(), relations.end());
  bool latency_rises = true, bandwidth_falls = true;
  std::string latencies, bandwidths;
  const tune::Interval* before = nullptr;
  double peak_before = 0;
  int measured = 0;
  for (const auto& [number, name] : relations) {
    topo::Relation relation = static_cast<topo::Relation>(static_cast<int>(number));
    const tune::Interval* now = findings.curve(latency_of(relation)).at(kShortBytes);
    if (now == nullptr) continue;
    const double peak = peak_of(findings.curve(bandwidth_of(relation)));
    latency_rises = latency_rises && (before == nullptr || before->middle < now->middle);
    bandwidth_falls = bandwidth_falls && (before == nullptr || peak_before > peak);
    latencies += fmt::format("{}{} {} us", latencies.empty() ? "" : ", ", name, three_digits(now->middle));
    bandwidths += fmt::format("{}{} {} GB/s", bandwidths.empty() ? "" : ", ", name, three_digits(peak));
    before = now;
    peak_before = peak;
    ++measured;
  }
  if (measured < 2)
    return {not_measurable("one relation was measured"), not_measurable("one relation was measured")};
  return {confirmed(latency_rises, "8 bytes take: " + latencies),
          confirmed(bandwidth_falls, "at most: " + bandwidths)};
}

constexpr Claim kClaims[] = {
    {"section 5.1, figure 2",
     "The nearer two processes are, the shorter a small message takes: 0.42 us on one chip, 0.89 us across "
     "chips.",
     "confirmed when the time of 8 bytes rises from each relation of this machine to the next farther one"},
    {"section 5.1, figure 2",
     "Two processes that share a cache reach far more bandwidth than two that do not: 6684 MB/s against 1258 "
     "MB/s.",
     "confirmed when the highest bandwidth falls from each relation of this machine to the next farther one"},
};

}  // namespace relations

extern const Experiment kRelations = {
    "relations",
    "Latency and bandwidth by what lies between two ranks",
    kMulticore2007,
    "One job of two ranks on a pair of processors for each relation that the machine has. Ping-pong, and "
    "windows of up to "
    "64 messages (2 MiB); every message is rewritten before it is sent and checked when it has come, "
    "untimed.",
    relations::kClaims,
    relations::measure,
    relations::judge,
};

}  // namespace hearth::tools::paper
