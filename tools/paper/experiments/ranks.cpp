// Latency of a small message against the number of ranks.
#include <fmt/format.h>

#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace ranks {

constexpr double kRiseMax = 1.25;
constexpr const char* kCurve = "Hearth";
constexpr const char* kRatio = "to a job of two";

Status measure(Laboratory& laboratory, Findings& findings) {
  const std::vector<int> all =
      laboratory.quick() ? std::vector<int>{2, 4} : std::vector<int>{2, 4, 8, 16, 32, 64};
  const int rounds = laboratory.rounds(9);
  Samples samples;
  // The job sizes alternate, so that a drift of the machine affects all of them equally.
  for (int round = 0; round < rounds; ++round) {
    for (const int ranks : all) {
      Job job;
      job.ranks = ranks;
      job.words = {"idle", laboratory.quick() ? "20" : "60", "1"};
      // The two communicating ranks have a processor each, so they may poll as in a job of two.
      job.environment = {{"HEARTH_WAIT_SPIN", "50us"}};
      HEARTH_TRY(laboratory.run(job, samples, findings));
      if (round % 2 == 0) laboratory.run_on_peers(job, samples, findings);
    }
  }
  Plot plot{"Half a round trip of 8 bytes between ranks 0 and 1", "us", "ranks of the job", true};
  plot.curves.push_back(curve_of(samples, "idle", kCurve, 1e-3));
  for (const Library& peer : laboratory.peers())
    plot.curves.push_back(curve_of(samples, peer.name + "/idle", peer.name, 1e-3));
  findings.plots = {plot};
  // Each job is compared with the job of two ranks of the same round.
  Samples paired;
  for (const int ranks : all) {
    for (const double value : samples.of("idle", ranks)) paired.add("many", ranks, value);
    for (const double value : samples.of("idle", all.front())) paired.add("two", ranks, value);
  }
  findings.ratios = {ratio_of(paired, "many", "two", kRatio)};
  return {};
}

std::vector<Judgement> judge(const Findings& findings) {
  const Curve& ratio = findings.ratio(kRatio);
  if (ratio.points.size() < 2) return {not_measurable("only one number of ranks was measured")};
  const Point& many = ratio.points.back();
  return {confirmed(many.value.middle <= kRiseMax,
                    fmt::format("with {} ranks half a round trip takes {} times as long as with 2",
                                many.place, interval_words(many.value)))};
}

constexpr Claim kClaims[] = {
    {"section 3.4.1",
     "A receiver that looks after P - 1 buffers need not pay for it when what it looks at lies close "
     "together.",
     "confirmed when half a round trip of 8 bytes in the largest job takes at most 1.25 times as long as in "
     "the "
     "job of two of the same round (median)"},
};

}  // namespace ranks

extern const Experiment kRanks = {
    "ranks",
    "Latency of a small message against the number of ranks",
    kScalable2006,
    "Every rank sends to every other one first. Then ranks 0 and 1, on a processor each, send 8 bytes to and "
    "fro, while the "
    "others sleep outside of MPI, so that it is the number of partners that counts and not who uses the "
    "processors. "
    "Jobs of all sizes take turns.",
    ranks::kClaims,
    ranks::measure,
    ranks::judge,
};

}  // namespace hearth::tools::paper
