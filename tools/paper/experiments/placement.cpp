// High-bandwidth memory for the program's buffers, for the library's, for both.
#include <fmt/format.h>

#include <algorithm>

#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace placement {

constexpr double kGainMin = 1.1;
constexpr double kLittle = 0.5;
constexpr const char* kKinds[] = {"neither", "shared only", "user only", "both"};

/// The node with the highest and the node with the lowest bandwidth. If bandwidths are unknown, `told` is
/// false, and the nodes are the last and the first. False if there is only one node.
bool choose_nodes(const topo::Machine& machine, int& fast, int& usual, bool& told) {
  const auto& nodes = machine.memory_nodes();
  if (nodes.size() < 2) return false;
  const auto best = std::max_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
    return a.bandwidth_mib_s < b.bandwidth_mib_s;
  });
  const auto least = std::min_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
    return a.bandwidth_mib_s < b.bandwidth_mib_s;
  });
  told = best->bandwidth_mib_s > least->bandwidth_mib_s && least->bandwidth_mib_s > 0;
  usual = told ? least->number : nodes.front().number;
  fast = told ? best->number : nodes.back().number;
  return true;
}

Status measure(Laboratory& laboratory, Findings& findings) {
  int fast = -1, usual = -1;
  bool told = false;
  if (!choose_nodes(laboratory.machine(), fast, usual, told)) {
    findings.missing = "this machine has one memory node, so there is no other memory to put buffers into";
    return {};
  }
  if (!told) {
    findings.missing =
        "this machine has several memory nodes, but none that is told to be of higher bandwidth; the curves "
        "show the first against the last";
  }
  findings.notes.push_back(
      fmt::format("memory of high bandwidth: node {}; usual memory: node {}", fast, usual));
  Samples samples;
  const int rounds = laboratory.rounds(9);
  for (int round = 0; round < rounds; ++round) {
    for (int kind = 0; kind < 4; ++kind) {
      Job job;
      job.ranks = laboratory.ranks_with_cores(1 << 16);
      job.environment = {{"HEARTH_MEMORY_BUFFERS", kind % 2 == 1 ? "highbw" : "local"}};
      job.words = {"ways",
                   "stream",
                   laboratory.quick() ? "65536" : powers_of_two(4096, 4 << 20, 2),
                   "malloc",
                   "1",
                   "2000",
                   std::to_string(kind >= 2 ? fast : usual),
                   way(fmt::format("kind{}", kind), buffered_way())};
      HEARTH_TRY(laboratory.run(job, samples, findings));
    }
  }
  Plot plot{"All pairs, through bounce buffers", "GB/s of a pair", ""};
  for (int kind = 0; kind < 4; ++kind)
    plot.curves.push_back(bandwidth_of(samples, fmt::format("kind{}", kind), kKinds[kind], 1));
  findings.plots = {plot};
  for (int kind = 1; kind < 4; ++kind)
    findings.ratios.push_back(
        ratio_of(samples, "kind0", fmt::format("kind{}", kind), fmt::format("gain of {}", kKinds[kind])));
  return {};
}

std::vector<Judgement> judge(const Findings& findings) {
  const Curve &both = findings.ratio("gain of both"), &shared = findings.ratio("gain of shared only");
  const Point* best = nullptr;
  for (const Point& point : both.points)
    if (best == nullptr || point.value.middle > best->value.middle) best = &point;
  if (best == nullptr)
    return {not_measurable("nothing was measured"), not_measurable("nothing was measured")};
  const tune::Interval* part = shared.at(best->place);
  const double whole_gain = best->value.middle - 1, part_gain = part == nullptr ? 0 : part->middle - 1;
  const std::string where = bytes_text(static_cast<uint64_t>(best->place));
  return {confirmed(best->value.surely_above(kGainMin),
                    fmt::format("with both the bandwidth is {} times the usual one at {}",
                                interval_words(best->value), where)),
          confirmed(whole_gain > kGainMin - 1 && part_gain < kLittle * whole_gain,
                    fmt::format("at {} the library's buffers alone gain {:.0f} %, both {:.0f} %", where,
                                100 * part_gain, 100 * whole_gain))};
}

constexpr Claim kClaims[] = {
    {"section III-B, figures 3 and 5",
     "With the program's and the library's buffers in memory of high bandwidth, messages between all cores "
     "reach up to 372 % more "
     "bandwidth.",
     "confirmed when, with both, the bandwidth is surely 1.1 times the usual one or more at some length"},
    {"section III-B, figure 3", "The library's buffers alone gain little: both have to be there.",
     "confirmed when at that length the library's buffers alone gain less than half of what both gain"},
};

}  // namespace placement

extern const Experiment kPlacement = {
    "memory-placement",
    "High-bandwidth memory under the program's and the library's buffers",
    kManycore2018,
    "Streams between all pairs of cores, through bounce buffers, with the program's buffers bound to usual "
    "memory or "
    "to memory of high "
    "bandwidth, and the bounce buffers likewise (HEARTH_MEMORY_BUFFERS): all four combinations, by turns.",
    placement::kClaims,
    placement::measure,
    placement::judge,
};

}  // namespace hearth::tools::paper
