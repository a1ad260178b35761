// Shared memory against the number of ranks: measured and by formula.
#include <fmt/format.h>

#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace memory {

constexpr double kMebi = 1048576;
// Messages of this length use bounce buffers in every pair of ranks.
constexpr int kMessageBytes = 65536;
constexpr const char* kMeasured = "Hearth, measured";
constexpr const char* kFormula = "Hearth, by formula";
constexpr const char* kOriginal = "original design, by formula";
constexpr const char* kNew = "the paper's new design, by formula";

/// scalable-intranode-2006, section 3.2: small buffers per pair, and a pool of bounce buffers per process.
double new_design_bytes(double ranks) {
  return ranks * (ranks - 1) * 32 * 1024 + ranks * 128 * 8 * 1024;
}

Status measure(Laboratory& laboratory, Findings& findings) {
  Samples samples;
  Plot plot{"Shared memory of a job", "MiB", "ranks of the job", true};
  Curve formula{kFormula, {}}, original{kOriginal, {}}, designed{kNew, {}};
  for (const int ranks :
       laboratory.quick() ? std::vector<int>{2, 4} : std::vector<int>{2, 4, 8, 16, 32, 64}) {
    Job job;
    job.ranks = ranks;
    job.words = {"memory", std::to_string(kMessageBytes)};
    HEARTH_TRY(laboratory.run(job, samples, findings));
    laboratory.run_on_peers(job, samples, findings);
    const auto [own_bytes, original_bytes] = laboratory.memory_by_formula(ranks);
    const auto point = [ranks](double bytes) {
      return Point{static_cast<double>(ranks), tune::median_interval({bytes / kMebi})};
    };
    formula.points.push_back(point(own_bytes));
    original.points.push_back(point(original_bytes));
    designed.points.push_back(point(new_design_bytes(ranks)));
  }
  plot.curves = {curve_of(samples, "shared", kMeasured, 1 / kMebi), formula, original, designed};
  for (const Library& peer : laboratory.peers())
    plot.curves.push_back(curve_of(samples, peer.name + "/shared", peer.name + ", measured", 1 / kMebi));
  findings.plots = {plot};
  if (!samples.has("shared"))
    findings.missing = "this kernel does not tell how much memory of a process is shared";
  return {};
}

std::vector<Judgement> judge(const Findings& findings) {
  const Curve &measured = findings.curve(kMeasured), &original = findings.curve(kOriginal);
  const Curve& formula = findings.curve(kFormula);
  bool below = !measured.points.empty(), within = below, falls = true;
  double share_before = 0;
  std::string shares;
  for (const Point& point : measured.points) {
    const tune::Interval *then = original.at(point.place), *most = formula.at(point.place);
    if (then == nullptr || most == nullptr) continue;
    const double share = point.value.middle / then->middle;
    if (point.place >= 4) below = below && share < 1;
    falls = falls && (share_before == 0 || share < share_before);
    within = within && point.value.middle <= most->middle;
    shares += fmt::format("{}{} ranks {} MiB ({} %)", shares.empty() ? "" : ", ", point.place,
                          three_digits(point.value.middle), three_digits(100 * share));
    share_before = share;
  }
  return {confirmed(below && falls, "measured, and its share of the original design: " + shares),
          confirmed(within, within ? "measured is at or below the formula for every number of ranks"
                                   : "measured is above the formula: " + shares)};
}

constexpr Claim kClaims[] = {
    {"section 3.3.3, figure 6",
     "A pool of bounce buffers for each process and small buffers for each pair need far less shared memory "
     "than 1 "
     "MiB for each "
     "ordered pair, the more so the more processes there are.",
     "confirmed when the measured memory is below the original design's P * (P - 1) MiB from 4 ranks on, and "
     "its share of that "
     "falls with every larger job"},
    {"section 3.3.3, figure 6", "The consumption follows from a formula of the number of processes.",
     "confirmed when what is measured never exceeds the formula of hearth info --memory, in which every rank "
     "talks to every "
     "other one"},
};

}  // namespace memory

extern const Experiment kMemory = {
    "memory",
    "Shared memory against the number of ranks",
    kScalable2006,
    "Every rank sends 8 bytes and 64 KiB to every other one; then each adds up its shared pages as the "
    "kernel counts them "
    "(Pss_Shmem: a page divided by the number of processes that have it), and the ranks' sums are added. "
    "Beside it the "
    "formulas: ours (hearth info --memory), the original design's and the paper's own.",
    memory::kClaims,
    memory::measure,
    memory::judge,
};

}  // namespace hearth::tools::paper
