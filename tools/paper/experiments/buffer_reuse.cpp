// Multi-pair bandwidth with and without buffer reuse, with two copies and with one.
#include <fmt/format.h>

#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "pretty.h"

namespace hearth::tools::paper {
namespace buffer_reuse {

constexpr uint64_t kRegionBytesMin = uint64_t{64} << 20;
// A window's data and their copy; half of the cache remains for everything else.
constexpr double kWindow = 64;

Status measure(Laboratory& laboratory, Findings& findings) {
  const std::string& refusal = laboratory.kernel_copy_refusal();
  const bool by_kernel = refusal.empty();
  if (!by_kernel)
    findings.notes.push_back("single copy is the arena's here, since the kernel's is refused: " + refusal);
  const int ranks = laboratory.ranks_with_cores(64);
  const uint64_t region =
      laboratory.quick()
          ? uint64_t{1} << 20
          : std::max<uint64_t>(kRegionBytesMin, static_cast<uint64_t>(laboratory.last_level_bytes() * 2));
  Job job;
  job.ranks = ranks;
  job.words = {"pairs",
               laboratory.quick() ? "8192,16384" : powers_of_two(1024, 262144),
               by_kernel ? "malloc" : "mpi",
               std::to_string(laboratory.rounds(31)),
               std::to_string(region),
               "none",
               way("two", buffered_way()),
               way("one", by_kernel ? kernel_way() : arena_way())};
  Samples samples;
  HEARTH_TRY(laboratory.run(job, samples, findings));
  job.words.resize(6);
  job.words.push_back(way("two", ""));
  laboratory.run_on_peers(job, samples, findings);

  findings.numbers["second_level_bytes"] = laboratory.second_level_bytes();
  const int pairs = ranks / 2;
  Plot reuse{"The same 64 buffers, rewritten", "GB/s of all pairs", ""},
      fresh{"Buffers not used lately", "GB/s of all pairs", ""};
  for (const auto& [series, name] :
       {std::pair<const char*, const char*>{"two", "two copies"}, {"one", "one copy"}}) {
    reuse.curves.push_back(
        bandwidth_of(samples, std::string(series) + "/reuse", fmt::format("{}, reused", name), pairs));
    fresh.curves.push_back(
        bandwidth_of(samples, std::string(series) + "/fresh", fmt::format("{}, fresh", name), pairs));
  }
  for (const Library& peer : laboratory.peers()) {
    reuse.curves.push_back(bandwidth_of(samples, peer.name + "/two/reuse", peer.name + ", reused", pairs));
    fresh.curves.push_back(bandwidth_of(samples, peer.name + "/two/fresh", peer.name + ", fresh", pairs));
  }
  findings.plots = {fresh, reuse};
  findings.ratios = {ratio_of(samples, "one/fresh", "two/fresh", "one copy to two, fresh"),
                     ratio_of(samples, "one/reuse", "two/reuse", "one copy to two, reused"),
                     ratio_of(samples, "two/reuse", "two/fresh", "reused to fresh, two copies"),
                     ratio_of(samples, "one/reuse", "one/fresh", "reused to fresh, one copy")};
  return {};
}

/// Over the lengths at which a window and its copy fit into the second-level cache: the mean of the medians,
/// and whether the whole interval is below 1 at all of them.
struct Medium {
  double mean = 0;
  int lengths = 0;
  bool all_below = true;
};

Medium medium_of(const Curve& ratio, double cache_bytes) {
  Medium medium;
  for (const Point& point : ratio.points) {
    if (2 * kWindow * point.place > cache_bytes) continue;
    medium.mean += point.value.middle;
    medium.all_below = medium.all_below && point.value.surely_below(1);
    ++medium.lengths;
  }
  if (medium.lengths > 0) medium.mean /= medium.lengths;
  return medium;
}

Judgement judge_crossover(const Findings& findings) {
  const Curve& ratio = findings.ratio("one copy to two, fresh");
  if (ratio.points.empty()) return not_measurable("nothing was measured");
  const Point& first = ratio.points.front();
  const Point& last = ratio.points.back();
  double from = 0;
  for (auto point = ratio.points.rbegin(); point != ratio.points.rend() && point->value.surely_below(1);
       ++point)
    from = point->place;
  return confirmed(
      from > 0 && !first.value.surely_below(1),
      fmt::format("one copy takes, to two: {} at {}, {} at {}; {}", interval_words(first.value),
                  bytes_text(static_cast<uint64_t>(first.place)), interval_words(last.value),
                  bytes_text(static_cast<uint64_t>(last.place)),
                  from > 0 ? "surely less from " + bytes_text(static_cast<uint64_t>(from)) + " on"
                           : "surely less up to the longest one nowhere"));
}

std::vector<Judgement> judge(const Findings& findings) {
  const double cache = findings.number("second_level_bytes");
  const Medium two = medium_of(findings.ratio("reused to fresh, two copies"), cache);
  const Medium one = medium_of(findings.ratio("reused to fresh, one copy"), cache);
  const Medium gain_fresh = medium_of(findings.ratio("one copy to two, fresh"), cache);
  const Medium gain_reuse = medium_of(findings.ratio("one copy to two, reused"), cache);
  if (two.lengths == 0)
    return {judge_crossover(findings), not_measurable("no length's window fits the second-level cache"),
            not_measurable("no length's window fits the second-level cache")};
  const std::string where = fmt::format("at {} lengths whose window fits {}", two.lengths,
                                        bytes_text(static_cast<uint64_t>(cache)));
  return {judge_crossover(findings),
          confirmed(two.all_below && one.all_below,
                    fmt::format("{}, reused takes {} of the time of fresh by two copies, {} by one", where,
                                three_digits(two.mean), three_digits(one.mean))),
          confirmed(
              gain_reuse.mean < gain_fresh.mean && gain_reuse.mean < 1,
              fmt::format("{}, one copy takes {} of the time of two with reused buffers, {} with fresh ones",
                          where, three_digits(gain_reuse.mean), three_digits(gain_fresh.mean)))};
}

constexpr Claim kClaims[] = {
    {"section 3.1, figure 2",
     "Copying once, by the kernel, is faster from a certain length on, and slower or no better below it.",
     "confirmed when, with fresh buffers, the whole interval of the ratio is below 1 from some length up to "
     "the longest "
     "one, and is not at the shortest one"},
    {"section 3.2, figure 3",
     "Both ways are faster when buffers are used again, as long as they all fit the cache.",
     "confirmed when the whole interval of reused to fresh is below 1 for both ways at every length of which "
     "64 messages "
     "and their copies fit the second-level cache"},
    {"section 3.2, figure 3",
     "Copying once gains more over copying twice when buffers are used again, since no buffer between "
     "pollutes the cache.",
     "confirmed when, at those lengths, one copy takes less time than two with reused buffers, and less in "
     "proportion than "
     "with fresh ones (mean of the medians)"},
};

}  // namespace buffer_reuse

extern const Experiment kBufferReuse = {
    "buffer-reuse",
    "Bandwidth of all pairs, with and without buffer reuse",
    kHybrid2008,
    "As many pairs as there are cores for; windows of 64 messages, each from and to a buffer of its own, and "
    "an empty answer. "
    "Reused: the same 64 buffers, rewritten before each window, untimed. Fresh: a walk through a region "
    "larger than the "
    "last-level cache. Two copies through bounce buffers and one by the kernel take turns in one job.",
    buffer_reuse::kClaims,
    buffer_reuse::measure,
    buffer_reuse::judge,
};

}  // namespace hearth::tools::paper
