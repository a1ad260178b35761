// An experiment of a paper: the paper, the figure, the claim in our words, the measurement, and the rule that
// derives the verdict from the numbers. The registry has a row for each. A new experiment is a file beside
// the others and its name in registry.cpp. Used by `hearth bench paper`, in one thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "paper/findings.h"

namespace hearth::tools::paper {

class Laboratory;

enum class Verdict { confirmed, not_confirmed, not_measurable };
/// "confirmed", "not confirmed", "not measurable here".
const char* verdict_words(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::not_measurable;
  std::string because;  // with the numbers that decided
};

struct Paper {
  const char* key;  // "multicore-impact-2007"
  const char* title;
  const char* authors;
};

struct Claim {
  const char* place;  // "section 3.4, figure 6"
  const char* words;
  const char* rule;
};

struct Experiment {
  const char* name;
  const char* title;
  const Paper& paper;
  const char* method;
  std::span<const Claim> claims;
  Status (*measure)(Laboratory& laboratory, Findings& findings);
  /// Called if nothing is missing; returns one judgement for each claim.
  std::vector<Judgement> (*judge)(const Findings& findings);
};

/// The experiment's judgement of each of its claims. If `findings.missing` is set, no claim is measurable.
std::vector<Judgement> judgements_of(const Experiment& experiment, const Findings& findings);

// papers.cpp
extern const Paper kScalable2006, kMulticore2007, kHybrid2008, kOpenMx2009, kManycore2018;

// registry.cpp
std::span<const Experiment* const> experiments();
/// nullptr if no experiment has that name.
const Experiment* find_experiment(const std::string& name);

// Text for reasons.
/// "0.83 (0.80 to 0.86)"; without the interval if there are too few values for one.
std::string interval_words(const tune::Interval& interval);
/// "-17 % (-20 to -14)" of a ratio.
std::string change_words(const tune::Interval& ratio);
Judgement confirmed(bool is, std::string because);
Judgement not_measurable(std::string because);

}  // namespace hearth::tools::paper
