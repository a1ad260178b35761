// Data tiling: a ring of processes that pass their data on.
#include <fmt/format.h>

#include "paper/experiment.h"
#include "paper/laboratory.h"

namespace hearth::tools::paper {
namespace tiling {

constexpr uint64_t kBytes = uint64_t{64} << 20;
constexpr uint64_t kTileBytes = 256 << 10;
constexpr double kShareMax = 0.9;

Status measure(Laboratory& laboratory, Findings& findings) {
  const int most = laboratory.ranks_with_cores(16);
  Samples samples;
  for (int ranks = 2; ranks <= most; ranks *= 2) {
    Job job;
    job.ranks = ranks;
    job.words = {"ring", std::to_string(laboratory.quick() ? kBytes / 64 : kBytes),
                 std::to_string(kTileBytes), "4", std::to_string(laboratory.rounds(21))};
    HEARTH_TRY(laboratory.run(job, samples, findings));
    laboratory.run_on_peers(job, samples, findings);
  }
  Plot plot{"A step of the ring", "ms", "ranks of the job", true};
  for (const auto& [series, name] :
       {std::pair<const char*, const char*>{"whole", "in one piece"}, {"tiled", "in tiles"}}) {
    plot.curves.push_back(curve_of(samples, series, name, 1e-6));
    for (const Library& peer : laboratory.peers())
      plot.curves.push_back(curve_of(samples, fmt::format("{}/{}", peer.name, series),
                                     fmt::format("{}, {}", peer.name, name), 1e-6));
  }
  findings.plots = {plot};
  findings.ratios = {ratio_of(samples, "tiled", "whole", "tiles to one piece")};
  return {};
}

std::vector<Judgement> judge(const Findings& findings) {
  const Curve& ratio = findings.ratio("tiles to one piece");
  if (ratio.points.empty()) return {not_measurable("nothing was measured")};
  bool all = true;
  std::string words;
  for (const Point& point : ratio.points) {
    all = all && point.value.surely_below(kShareMax);
    words += fmt::format("{}{} ranks: {}", words.empty() ? "" : "; ", point.place, change_words(point.value));
  }
  return {confirmed(all, "time of tiles beside one piece, " + words)};
}

constexpr Claim kClaims[] = {
    {"section 5.4, figure 7",
     "Working through 64 MiB in tiles of 256 KiB, which stay in the cache from one step to the next, takes "
     "70 % less time with two "
     "processes on one chip, and 50 to 60 % less with more.",
     "confirmed when tiles surely take at least 10 % less time than one piece with every number of ranks"},
};

}  // namespace tiling

extern const Experiment kTiling = {
    "tiling",
    "Data tiling in a ring",
    kMulticore2007,
    "Each process multiplies its 64 MiB, hands them to its right neighbour and takes its left one's, for "
    "four steps: all data "
    "in one piece, or tile by tile of 256 KiB, each through all steps. Both take turns in one job and leave "
    "the same numbers "
    "behind, which are checked.",
    tiling::kClaims,
    tiling::measure,
    tiling::judge,
};

}  // namespace hearth::tools::paper
