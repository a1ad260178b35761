// MPI_Alltoall with more and more processes.
#include <fmt/format.h>

#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace alltoall {

constexpr double kGainBytes = 65536;

std::string ratio_name(int ranks) {
  return fmt::format("one copy to two, {} ranks", ranks);
}

Status measure(Laboratory& laboratory, Findings& findings) {
  const std::string& refusal = laboratory.kernel_copy_refusal();
  const bool by_kernel = refusal.empty();
  if (!by_kernel)
    findings.notes.push_back("single copy is the arena's here, since the kernel's is refused: " + refusal);
  const int cores = laboratory.machine().core_count();
  for (const int ranks : laboratory.quick() ? std::vector<int>{2, 4} : std::vector<int>{2, 4, 8, 16}) {
    if (ranks > 8 && ranks > cores) break;
    Job job;
    job.ranks = ranks;
    job.words = {"ways",
                 "alltoall",
                 laboratory.quick() ? "16384" : powers_of_two(1024, 262144, 2),
                 by_kernel ? "malloc" : "mpi",
                 std::to_string(laboratory.rounds(ranks <= cores ? 11 : 7)),
                 ranks <= cores ? "1000" : "10000",
                 "-",
                 way("two", buffered_way()),
                 way("one", by_kernel ? kernel_way() : arena_way())};
    // Uses messages between pairs; otherwise long collectives use shared memory.
    job.environment = {{"HEARTH_COLL_ALGORITHMS", "alltoall=pairwise"}};
    Samples samples;
    HEARTH_TRY(laboratory.run(job, samples, findings));
    Plot plot{fmt::format("Time of the slowest of {} ranks", ranks), "us", ""};
    job.environment = {};
    job.words.resize(7);
    job.words.push_back(way("as_it_is", ""));
    HEARTH_TRY(laboratory.run(job, samples, findings));
    laboratory.run_on_peers(job, samples, findings);
    for (const auto& [series, name] : {std::pair<const char*, const char*>{"two", "two copies"},
                                       {"one", "one copy"},
                                       {"as_it_is", "as it is"}})
      plot.curves.push_back(curve_of(samples, series, name, 1e-3));
    for (const Library& peer : laboratory.peers())
      plot.curves.push_back(curve_of(samples, peer.name + "/as_it_is", peer.name, 1e-3));
    findings.plots.push_back(plot);
    findings.ratios.push_back(ratio_of(samples, "one", "two", ratio_name(ranks)));
    if (ranks <= cores) {
      if (findings.number("ranks_least") == 0) findings.numbers["ranks_least"] = ranks;
      findings.numbers["ranks_most"] = ranks;
    }
  }
  return {};
}

/// The length from which one copy is significantly faster, up to the longest block; 0: none.
double crossover_of(const Curve& ratio) {
  double from = 0;
  for (auto point = ratio.points.rbegin(); point != ratio.points.rend() && point->value.surely_below(1);
       ++point)
    from = point->place;
  return from;
}

std::vector<Judgement> judge(const Findings& findings) {
  const int least = static_cast<int>(findings.number("ranks_least")),
            most = static_cast<int>(findings.number("ranks_most"));
  if (most <= least) {
    const std::string because =
        "this needs four cores or more: with more processes than cores it is the processors' time that is "
        "scarce, not the "
        "caches and the memory; those curves are shown, but not judged";
    return {not_measurable(because), not_measurable(because)};
  }
  const Curve &few = findings.ratio(ratio_name(least)), &many = findings.ratio(ratio_name(most));
  const double from_few = crossover_of(few), from_many = crossover_of(many);
  const auto words = [](int ranks, double from) {
    return fmt::format(
        "with {} ranks one copy is surely faster {}", ranks,
        from > 0 ? "from blocks of " + bytes_text(static_cast<uint64_t>(from)) + " on" : "nowhere");
  };
  const tune::Interval *gain_few = few.at(kGainBytes), *gain_many = many.at(kGainBytes);
  return {confirmed(from_many > 0 && (from_few == 0 || from_many < from_few),
                    words(least, from_few) + ", " + words(most, from_many)),
          gain_few == nullptr || gain_many == nullptr
              ? not_measurable("no block of 64 KiB was measured")
              : confirmed(gain_many->middle < gain_few->middle && gain_many->surely_below(1),
                          fmt::format("time of one copy to two at 64 KiB: {} with {} ranks, {} with {}",
                                      interval_words(*gain_few), least, interval_words(*gain_many), most))};
}

constexpr Claim kClaims[] = {
    {"section IV-D, figure 12",
     "The more processes take part, the shorter the blocks from which on copying once is faster: 64 KiB with "
     "2, 8 KiB with 8.",
     "confirmed when the length from which on one copy is surely faster is shorter in the largest job that "
     "has a core for each "
     "rank than in the job of two"},
    {"section IV-D, figure 12",
     "The more processes take part, the more copying once gains: up to 5 times at 64 KiB with 8.",
     "confirmed when at blocks of 64 KiB the ratio of one copy to two is lower in that largest job than in "
     "the job of two, and "
     "surely below 1"},
};

}  // namespace alltoall

extern const Experiment kAlltoall = {
    "alltoall",
    "MPI_Alltoall with more and more processes",
    kOpenMx2009,
    "MPI_Alltoall as messages between pairs, copied twice through bounce buffers or once by the kernel, by "
    "turns in "
    "one job; and the "
    "library as it is, whose long collectives meet in shared memory. The slowest rank's time; blocks are "
    "rewritten before and "
    "checked after each call.",
    alltoall::kClaims,
    alltoall::measure,
    alltoall::judge,
};

}  // namespace hearth::tools::paper
