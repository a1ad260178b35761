// The rules of `hearth bench paper` on made-up numbers: each claim is confirmed by numbers that support it,
// and only by those.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "paper/page.h"
#include "topo/relation.h"

namespace hearth::tools::paper {
namespace {

tune::Interval sure(double middle) {
  return {middle, middle * 0.99, middle * 1.01, 21};
}

tune::Interval unsure(double middle) {
  return {middle, middle * 0.5, middle * 2, 21};
}

Curve curve(const std::string& name, std::initializer_list<std::pair<double, tune::Interval>> points) {
  Curve result{name, {}};
  for (const auto& [place, value] : points) result.points.push_back({place, value});
  return result;
}

Curve flat(const std::string& name, std::initializer_list<std::pair<double, double>> points) {
  Curve result{name, {}};
  for (const auto& [place, value] : points) result.points.push_back({place, sure(value)});
  return result;
}

std::vector<Verdict> verdicts(const char* name, const Findings& findings) {
  const Experiment* experiment = find_experiment(name);
  EXPECT_NE(experiment, nullptr) << name;
  std::vector<Verdict> result;
  for (const Judgement& judgement : judgements_of(*experiment, findings)) {
    EXPECT_FALSE(judgement.because.empty());
    result.push_back(judgement.verdict);
  }
  EXPECT_EQ(result.size(), experiment->claims.size());
  return result;
}

constexpr Verdict kYes = Verdict::confirmed, kNo = Verdict::not_confirmed, kUntold = Verdict::not_measurable;
using Verdicts = std::vector<Verdict>;

TEST(PaperSamples, TurnsOfOneRoundBelongTogether) {
  Samples samples;
  // The machine gets slower from round to round, but the ratio stays.
  for (int round = 1; round <= 9; ++round) {
    samples.add("a", 64, 10.0 * round);
    samples.add("b", 64, 20.0 * round);
  }
  samples.add("a", 128, 1);
  const Curve ratio = ratio_of(samples, "b", "a", "b to a");
  ASSERT_EQ(ratio.points.size(), 1u) << "only places that both have";
  EXPECT_DOUBLE_EQ(ratio.points[0].value.middle, 2);
  EXPECT_DOUBLE_EQ(ratio.points[0].value.low, 2);
  EXPECT_DOUBLE_EQ(ratio.points[0].value.high, 2);
  EXPECT_DOUBLE_EQ(curve_of(samples, "a", "a", 0.1).at(64)->middle, 5);
  EXPECT_DOUBLE_EQ(bandwidth_of(samples, "a", "a", 2).at(128)->middle, 256);
  EXPECT_FALSE(samples.has("c"));
}

TEST(PaperSamples, FewValuesAreNeverSure) {
  const tune::Interval few = tune::median_interval({1, 1, 1});
  EXPECT_FALSE(few.surely_below(2));
  EXPECT_FALSE(few.surely_above(0.5));
  EXPECT_TRUE(tune::median_interval({1, 1, 1, 1, 1, 1}).surely_below(2));
}

TEST(PaperRegistry, EveryExperimentSaysWhatItIsAbout) {
  std::set<std::string> names;
  for (const Experiment* experiment : experiments()) {
    EXPECT_TRUE(names.insert(experiment->name).second) << experiment->name;
    EXPECT_EQ(find_experiment(experiment->name), experiment);
    EXPECT_FALSE(experiment->claims.empty());
    for (const Claim& claim : experiment->claims)
      EXPECT_EQ(std::string(claim.rule).rfind("confirmed when", 0), 0u) << claim.rule;
  }
  EXPECT_EQ(names.size(), 13u);
  EXPECT_EQ(find_experiment("no such"), nullptr);
}

TEST(PaperRegistry, WhatIsMissingDecidesFirst) {
  Findings findings;
  findings.missing = "there is no such memory";
  for (const Experiment* experiment : experiments()) {
    for (const Judgement& judgement : judgements_of(*experiment, findings)) {
      EXPECT_EQ(judgement.verdict, kUntold);
      EXPECT_EQ(judgement.because, findings.missing);
    }
  }
}

TEST(PaperRegistry, NoNumbersConfirmNothing) {
  for (const Experiment* experiment : experiments()) {
    for (const Judgement& judgement : judgements_of(*experiment, {}))
      EXPECT_NE(judgement.verdict, kYes) << experiment->name << ": " << judgement.because;
  }
}

TEST(PaperRules, Relations) {
  const auto found = [](double near_us, double far_us, double near_peak, double far_peak) {
    Findings findings;
    findings.numbers = {{"l3", static_cast<double>(topo::Relation::l3)},
                        {"machine", static_cast<double>(topo::Relation::machine)}};
    findings.plots = {{"t",
                       "us",
                       "",
                       false,
                       {flat("latency, l3", {{8, near_us}}), flat("latency, machine", {{8, far_us}})}},
                      {"b",
                       "GB/s",
                       "",
                       false,
                       {flat("bandwidth, l3", {{8, 1}, {4096, near_peak}}),
                        flat("bandwidth, machine", {{8, 1}, {4096, far_peak}})}}};
    return verdicts("relations", findings);
  };
  EXPECT_EQ(found(0.4, 0.9, 6, 1), (Verdicts{kYes, kYes}));
  EXPECT_EQ(found(0.9, 0.4, 6, 8), (Verdicts{kNo, kNo}));
}

TEST(PaperRules, BufferReuse) {
  const auto found = [](tune::Interval first, tune::Interval last, double reuse_two, double gain_reuse) {
    Findings findings;
    findings.numbers = {{"second_level_bytes", 1048576}};
    findings.ratios = {curve("one copy to two, fresh", {{1024, first}, {65536, last}}),
                       curve("one copy to two, reused", {{1024, sure(gain_reuse)}}),
                       curve("reused to fresh, two copies", {{1024, sure(reuse_two)}, {65536, sure(5)}}),
                       curve("reused to fresh, one copy", {{1024, sure(0.5)}})};
    return verdicts("buffer-reuse", findings);
  };
  EXPECT_EQ(found(sure(1.2), sure(0.7), 0.8, 0.7), (Verdicts{kYes, kYes, kYes}))
      << "lengths beyond the cache do not count for reuse";
  EXPECT_EQ(found(sure(1.2), unsure(0.7), 1.1, 1.3), (Verdicts{kNo, kNo, kNo}));
  EXPECT_EQ(found(sure(0.8), sure(0.7), 0.8, 0.9)[0], kNo) << "one copy wins from the start";
}

TEST(PaperRules, CacheMisses) {
  Findings findings;
  findings.ratios = {flat("one copy to two", {{1024, 0.93}, {65536, 0.5}})};
  EXPECT_EQ(verdicts("cache-misses", findings), Verdicts{kYes});
  findings.ratios = {flat("one copy to two", {{1024, 0.93}, {65536, 1.01}})};
  EXPECT_EQ(verdicts("cache-misses", findings), Verdicts{kNo});
}

TEST(PaperRules, Skew) {
  const auto found = [](double buffered_end, double lent_end, double aware_end) {
    Findings findings;
    findings.numbers = {{"copy_ns", 1000}};
    findings.plots = {
        {"p",
         "us",
         "delay",
         false,
         {flat("two copies, buffered", {{0, 2}, {10, buffered_end}}),
          flat("one copy", {{0, 1}, {10, lent_end}}), flat("skew-aware", {{0, 1.05}, {10, aware_end}})}}};
    return verdicts("skew", findings);
  };
  EXPECT_EQ(found(2.5, 10.5, 2.6), (Verdicts{kYes, kYes}));
  EXPECT_EQ(found(6, 10.5, 9), (Verdicts{kNo, kNo})) << "buffers wait too, and the choice follows the worse";
  EXPECT_EQ(found(2, 4, 2)[0], kNo) << "one copy hardly waits";
}

TEST(PaperRules, Ranks) {
  Findings findings;
  findings.ratios = {flat("to a job of two", {{2, 1}, {64, 1.2}})};
  EXPECT_EQ(verdicts("ranks", findings), Verdicts{kYes});
  findings.ratios = {flat("to a job of two", {{2, 1}, {64, 2}})};
  EXPECT_EQ(verdicts("ranks", findings), Verdicts{kNo});
  findings.ratios = {flat("to a job of two", {{2, 1}})};
  EXPECT_EQ(verdicts("ranks", findings), Verdicts{kUntold});
}

TEST(PaperRules, Memory) {
  const auto found = [](double at_4, double at_8) {
    Findings findings;
    findings.plots = {{"p",
                       "MiB",
                       "ranks",
                       true,
                       {flat("Hearth, measured", {{2, 1}, {4, at_4}, {8, at_8}}),
                        flat("Hearth, by formula", {{2, 2}, {4, 5}, {8, 12}}),
                        flat("original design, by formula", {{2, 2}, {4, 12}, {8, 56}})}}};
    return verdicts("memory", findings);
  };
  EXPECT_EQ(found(4, 10), (Verdicts{kYes, kYes}));
  EXPECT_EQ(found(4, 30), (Verdicts{kNo, kNo})) << "the share rises, and it is above the formula";
  EXPECT_EQ(found(14, 60), (Verdicts{kNo, kNo}));
}

TEST(PaperRules, Distribution) {
  const auto found = [](double channels, double near,
                        std::initializer_list<std::pair<double, double>> shares) {
    Findings findings;
    findings.numbers = {
        {"messages", 100}, {"channels", channels}, {"nearest_share", near}, {"nearest_even_share", 0.33}};
    findings.plots = {{"p", "%", "", false, {flat("messages", shares), flat("bytes", shares)}}};
    return verdicts("distribution", findings);
  };
  EXPECT_EQ(found(2, 0.6, {{4096, 50}, {32768, 45}, {65536, 5}}), (Verdicts{kYes, kYes}));
  EXPECT_EQ(found(2, 0.2, {{64, 50}, {32768, 50}}), (Verdicts{kNo, kNo}));
  EXPECT_EQ(found(1, 1, {{4096, 85}, {65536, 15}}), (Verdicts{kUntold, kNo}))
      << "16 times as long is outside";
}

TEST(PaperRules, Bottleneck) {
  Findings findings;
  findings.ratios = {curve("packed to alone", {{2, sure(1.5)}}), curve("packed to spread", {{2, sure(1.3)}})};
  EXPECT_EQ(verdicts("bottleneck", findings), (Verdicts{kYes, kYes}));
  findings.ratios = {curve("packed to alone", {{2, unsure(1.5)}})};
  EXPECT_EQ(verdicts("bottleneck", findings), (Verdicts{kNo, kUntold}));
}

TEST(PaperRules, Tiling) {
  Findings findings;
  findings.ratios = {curve("tiles to one piece", {{2, sure(0.3)}, {4, sure(0.5)}})};
  EXPECT_EQ(verdicts("tiling", findings), Verdicts{kYes});
  findings.ratios = {curve("tiles to one piece", {{2, sure(0.3)}, {4, unsure(0.5)}})};
  EXPECT_EQ(verdicts("tiling", findings), Verdicts{kNo});
}

TEST(PaperRules, Placement) {
  Findings findings;
  findings.ratios = {flat("gain of both", {{4096, 1.1}, {65536, 4}}),
                     flat("gain of shared only", {{4096, 1.1}, {65536, 1.2}})};
  EXPECT_EQ(verdicts("memory-placement", findings), (Verdicts{kYes, kYes}));
  findings.ratios = {flat("gain of both", {{65536, 1.05}}), flat("gain of shared only", {{65536, 1.04}})};
  EXPECT_EQ(verdicts("memory-placement", findings), (Verdicts{kNo, kNo}));
}

TEST(PaperRules, Affinity) {
  const auto found = [](double l2, double l3_best, double l3_worst) {
    Findings findings;
    findings.numbers = {{"l2", static_cast<double>(topo::Relation::l2)},
                        {"l3", static_cast<double>(topo::Relation::l3)}};
    findings.ratios = {flat("l2", {{1, l2}}), flat("l3", {{1, l3_best}, {2, l3_worst}})};
    return verdicts("affinity", findings);
  };
  EXPECT_EQ(found(5, 6, 4), (Verdicts{kYes, kYes}));
  EXPECT_EQ(found(8, 6, 5.9), (Verdicts{kNo, kNo}));
}

TEST(PaperRules, Chunks) {
  constexpr double kMebi = 1048576;
  Findings findings;
  findings.ratios = {flat("large to small", {{65536, 1}, {kMebi, 1.2}}),
                     flat("growing to small", {{65536, 2}, {kMebi, 0.99}})};
  EXPECT_EQ(verdicts("chunks", findings), (Verdicts{kYes, kYes}));
  findings.ratios = {flat("large to small", {{kMebi, 1.2}, {2 * kMebi, 0.9}}),
                     flat("growing to small", {{kMebi, 1.1}})};
  EXPECT_EQ(verdicts("chunks", findings), (Verdicts{kNo, kNo}));
  findings.ratios = {flat("large to small", {{65536, 2}})};
  EXPECT_EQ(verdicts("chunks", findings), (Verdicts{kUntold, kUntold}));
}

TEST(PaperRules, Alltoall) {
  Findings findings;
  findings.numbers = {{"ranks_least", 2}, {"ranks_most", 8}};
  findings.ratios = {flat("one copy to two, 2 ranks", {{16384, 1.1}, {65536, 0.9}}),
                     flat("one copy to two, 8 ranks", {{16384, 0.8}, {65536, 0.4}})};
  EXPECT_EQ(verdicts("alltoall", findings), (Verdicts{kYes, kYes}));
  std::swap(findings.ratios[0].points, findings.ratios[1].points);
  EXPECT_EQ(verdicts("alltoall", findings), (Verdicts{kNo, kNo}));
  findings.numbers["ranks_most"] = 2;
  EXPECT_EQ(verdicts("alltoall", findings), (Verdicts{kUntold, kUntold})) << "there are no cores for more";
}

Report made_up() {
  Report report;
  report.facts = {{"processor", "<fast & \"new\">"}};
  Result result;
  result.experiment = find_experiment("tiling");
  result.findings.plots = {{"A <plot>",
                            "ms",
                            "ranks of the job",
                            true,
                            {flat("in tiles", {{2, 1}, {4, 3}}), flat("in one piece", {{2, 2}})}}};
  result.findings.matrices = {{"Pairs", "us", {"0", "1"}, {0, 2, 2, 0}}};
  result.findings.listings = {{"Channels", {"both share", "#messages"}, {{"l3", "100 %"}}}};
  result.findings.ratios = {
      curve("tiles to one piece", {{2, {0.5, 0, std::numeric_limits<double>::infinity(), 3}}})};
  result.findings.notes = {"a note & more"};
  result.judgements = judgements_of(*result.experiment, result.findings);
  report.results = {result};
  return report;
}

TEST(PaperPage, EscapesAndFetchesNothing) {
  const std::string page = to_page(made_up());
  EXPECT_NE(page.find("&lt;fast &amp; &quot;new&quot;&gt;"), std::string::npos);
  EXPECT_NE(page.find("A &lt;plot&gt;"), std::string::npos);
  for (const char* word : {"<fast", "<script", "src=", "<link", "nan", "inf"})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  EXPECT_NE(page.find("prefers-color-scheme"), std::string::npos);
  EXPECT_EQ(summary_words(made_up()),
            "0 of 1 claims are confirmed on this machine, 1 is not, 0 cannot be measured here.");
}

TEST(PaperPage, JsonHasNoInfinity) {
  const Json json = to_json(made_up());
  const Json& ratio = json["experiments"][0]["ratios"][0]["points"][0];
  EXPECT_TRUE(ratio["high"].is_null());
  EXPECT_EQ(ratio["median"], 0.5);
  EXPECT_EQ(json["experiments"][0]["claims"][0]["verdict"], "not confirmed");
}

}  // namespace
}  // namespace hearth::tools::paper
