// The report of `hearth bench paper`: one self-contained HTML file with its plots, without scripts, readable
// on light and dark backgrounds; and the same as JSON. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "paper/experiment.h"

namespace hearth::tools::paper {

struct Result {
  const Experiment* experiment = nullptr;
  Findings findings;
  std::vector<Judgement> judgements;
  double seconds = 0;
};

struct Report {
  std::vector<std::pair<std::string, std::string>> facts;  // about the machine and the run, by name
  std::vector<std::string> notes;                          // about the whole run
  std::vector<Result> results;
};

/// "9 of 22 claims are confirmed on this machine, 4 are not, 9 cannot be measured here."
std::string summary_words(const Report& report);
std::string to_page(const Report& report);
Json to_json(const Report& report);

}  // namespace hearth::tools::paper
