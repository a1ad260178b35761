// A consumer that lags behind its producer.
#include <fmt/format.h>

#include <algorithm>

#include "bench_skew.h"
#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace skew {

// As in the paper.
constexpr uint64_t kBytes = 16384;
constexpr int kWindow = 64;
constexpr double kFlatMax = 0.1;
constexpr double kLinearMin = 0.8;

constexpr const char* kBuffered = "two copies, buffered";
constexpr const char* kLent = "one copy";
constexpr const char* kAware = "skew-aware";

Status measure(Laboratory& laboratory, Findings& findings) {
  const bool by_kernel = laboratory.kernel_copy_refusal().empty();
  if (!by_kernel) findings.notes.push_back("single copy is the arena's here, since the kernel's is refused");
  const SkewSettings settings = skew_settings(!by_kernel);
  Job job;
  job.program = Program::skew_probe;
  job.words = {std::to_string(kBytes),
               by_kernel ? "malloc" : "mpi",
               std::to_string(kWindow),
               std::to_string(laboratory.rounds(21)),
               laboratory.quick() ? "0,2" : "0,1,2,4,6,8,10,12",
               settings.buffered,
               settings.lent,
               settings.aware};
  Samples samples;
  HEARTH_TRY(laboratory.run(job, samples, findings));
  job.words.resize(5);
  job.words.emplace_back("");
  laboratory.run_on_peers(job, samples, findings);
  Plot plot{"The producer's time for a message", "us",
            "what the consumer works on each, in copies of a message"};
  for (const auto& [series, name] :
       {std::pair<const char*, const char*>{"0", kBuffered}, {"1", kLent}, {"2", kAware}})
    plot.curves.push_back(curve_of(samples, series, name, 1e-3));
  for (const Library& peer : laboratory.peers())
    plot.curves.push_back(curve_of(samples, peer.name + "/0", peer.name, 1e-3));
  findings.plots = {plot};
  findings.ratios = {ratio_of(samples, "2", "0", "skew-aware to two copies"),
                     ratio_of(samples, "2", "1", "skew-aware to one copy")};
  return {};
}

/// The slope of the producer's time over the consumer's work time.
double slope_of(const Curve& curve, double copy_us) {
  if (curve.points.size() < 2 || copy_us <= 0) return 0;
  const Point& first = curve.points.front();
  const Point& last = curve.points.back();
  return (last.value.middle - first.value.middle) / ((last.place - first.place) * copy_us);
}

std::vector<Judgement> judge(const Findings& findings) {
  const double copy_us = findings.number("copy_ns") / 1e3;
  const Curve &buffered = findings.curve(kBuffered), &lent = findings.curve(kLent),
              &aware = findings.curve(kAware);
  const double flat = slope_of(buffered, copy_us), linear = slope_of(lent, copy_us);
  std::vector<SkewPoint> points;
  for (const Point& point : aware.points) {
    const tune::Interval *b = buffered.at(point.place), *l = lent.at(point.place);
    if (b != nullptr && l != nullptr)
      points.push_back({point.place, b->middle, l->middle, point.value.middle});
  }
  const bool near = !points.empty() && std::all_of(points.begin(), points.end(), [](const SkewPoint& point) {
    return point.ratio() <= 1 + kSkewLossMax;
  });
  return {confirmed(flat <= kFlatMax && linear >= kLinearMin,
                    fmt::format("of each microsecond that the consumer works, the producer waits {} through "
                                "bounce buffers and {} "
                                "by one copy",
                                three_digits(flat), three_digits(linear))),
          confirmed(near, skew_verdict(points))};
}

constexpr Claim kClaims[] = {
    {"section 3.4, figure 6",
     "Copying once makes the producer wait for a consumer that lags, in proportion to its lag; copying twice "
     "through bounce buffers "
     "does not.",
     "confirmed when the producer's time rises by at most 0.1 of the consumer's work through bounce buffers, "
     "and by "
     "0.8 or more by "
     "one copy, from the least delay to the greatest"},
    {"section 4.2, figure 7",
     "A library that notices the lag and goes through bounce buffers meanwhile comes close to bounce buffers "
     "alone.",
     "confirmed when the skew-aware way takes at most 10 % more than the better of the two others at every "
     "delay"},
};

}  // namespace skew

extern const Experiment kSkew = {
    "skew",
    "A consumer that lags behind its producer",
    kHybrid2008,
    "Windows of 64 messages of 16 KiB; the producer writes each and sends it by MPI_Isend, the consumer "
    "receives it and works "
    "for a multiple of the time of one copy. Three ways take turns in one job: through bounce buffers, "
    "copied once, "
    "and as the library "
    "chooses by its own waiting.",
    skew::kClaims,
    skew::measure,
    skew::judge,
};

}  // namespace hearth::tools::paper
