#include "paper/bench_paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "facts.h"
#include "floors.h"
#include "idleness.h"
#include "mpi.h"
#include "output_file.h"
#include "paper/experiment.h"
#include "paper/laboratory.h"
#include "paper/page.h"
#include "pretty.h"

namespace hearth::tools {
namespace {

using namespace paper;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string date_words() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

/// Wraps text to lines that fit a terminal.
std::string folded(const std::string& text, const std::string& begin, size_t width = 100) {
  const std::string indent(begin.size(), ' ');
  std::string out = begin;
  size_t column = begin.size();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column + word.size() + 1 > width && column > indent.size()) {
      out += '\n' + indent;
      column = indent.size();
    }
    if (column > indent.size()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + '\n';
}

void print_list() {
  for (const Experiment* experiment : experiments()) {
    fmt::print("{}: {}\n  {}: {}\n", experiment->name, experiment->title, experiment->paper.key,
               experiment->paper.title);
    for (const Claim& claim : experiment->claims)
      fmt::print("{}", folded(fmt::format("{}: {}", claim.place, claim.words), "  - "));
  }
}

void print_result(const Result& result) {
  fmt::print("\n{}: {}\n", result.experiment->name, result.experiment->title);
  for (const Plot& plot : result.findings.plots) {
    std::vector<std::string> titles = {plot.places.empty() ? "bytes" : plot.places};
    std::vector<double> places;
    for (const Curve& curve : plot.curves) {
      titles.push_back(curve.name);
      for (const Point& point : curve.points) places.push_back(point.place);
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    TextTable table(titles);
    for (const double place : places) {
      std::vector<std::string> row = {fmt::format("{:g}", place)};
      for (const Curve& curve : plot.curves) {
        const tune::Interval* value = curve.at(place);
        row.push_back(value == nullptr ? "-" : three_digits(value->middle));
      }
      table.add(row);
    }
    fmt::print("  {}, {}\n{}", plot.title, plot.unit, table.text(4));
  }
  for (const Listing& listing : result.findings.listings) {
    std::vector<std::string> titles = listing.columns;
    for (std::string& title : titles)
      if (title.starts_with("#")) title.erase(0, 1);
    TextTable table(titles);
    for (const auto& row : listing.rows) table.add(row);
    fmt::print("  {}\n{}", listing.title, table.text(4));
  }
  for (const std::string& note : result.findings.notes) fmt::print("{}", folded("note: " + note, "  "));
  for (size_t i = 0; i < result.judgements.size(); ++i) {
    const Claim& claim = result.experiment->claims[i];
    fmt::print("{}{}", folded(fmt::format("{}: {}", claim.place, claim.words), "  "),
               folded(fmt::format("{}: {}", verdict_words(result.judgements[i].verdict),
                                  result.judgements[i].because),
                      "    "));
  }
  std::fflush(stdout);
}

Status choose(const PaperOptions& options, std::vector<const Experiment*>& chosen) {
  if (options.all) {
    chosen.assign(experiments().begin(), experiments().end());
    return {};
  }
  for (const std::string& name : options.names) {
    const Experiment* experiment = find_experiment(name);
    if (experiment == nullptr) {
      return fail(MPI_ERR_ARG, "there is no experiment '%s'; `hearth bench paper --list` names them",
                  name.c_str());
    }
    chosen.push_back(experiment);
  }
  if (chosen.empty())
    return fail(MPI_ERR_ARG,
                "no experiment is named. Remedy: names of `hearth bench paper --list`, or --all");
  return {};
}

std::string fact_text(const Json& facts, const char* name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return "not told";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

void describe(const Laboratory& laboratory, double seconds, Report& report) {
  const Json machine = machine_facts();
  report.facts = {{"processor", fact_text(machine, "processor")},
                  {"shape", laboratory.machine().shape()},
                  {"second-level cache", bytes_text(static_cast<uint64_t>(laboratory.second_level_bytes()))},
                  {"last-level cache", bytes_text(static_cast<uint64_t>(laboratory.last_level_bytes()))},
                  {"kernel", fact_text(machine, "kernel")},
                  {"hypervisor", fact_text(machine, "hypervisor")}};
  for (const auto& [name, version] : laboratory.versions()) report.facts.emplace_back(name, version);
  report.facts.emplace_back("date", date_words());
  report.facts.emplace_back("took", fmt::format("{:.0f} s, {} jobs", seconds, laboratory.jobs()));
  if (!laboratory.floors().empty()) {
    const double floor = tune::median(laboratory.floors());
    report.facts.emplace_back("one cache line, processor to processor",
                              fmt::format("{} ns: {}", three_digits(floor), Floors::state_of(floor)));
    const auto elsewhere = std::count_if(
        laboratory.floors().begin(), laboratory.floors().end(),
        [floor](double other) { return std::string(Floors::state_of(other)) != Floors::state_of(floor); });
    if (elsewhere > 0) {
      report.notes.push_back(fmt::format(
          "for {} of {} looks the machine was in another state, as virtual machines are from second "
          "to second: ways that take turns meet the same states, curves of different jobs may not",
          elsewhere, laboratory.floors().size()));
    }
  }
}

}  // namespace

Status run_paper(const PaperOptions& options) {
  if (options.list) {
    print_list();
    return {};
  }
  std::vector<const Experiment*> chosen;
  HEARTH_TRY(choose(options, chosen));
  for (const std::string& file : {options.page_file, options.json_file})
    if (!file.empty()) HEARTH_TRY(check_writable(file));
  Installation place;
  HEARTH_TRY(find_installation(place));
  for (const std::filesystem::path& needed : {place.launcher, place.paper_probe, place.skew_probe}) {
    if (!std::filesystem::exists(needed)) {
      return fail(MPI_ERR_OTHER,
                  "'%s' is not there. Likely cause: this installation was moved in parts; remedy: `make`",
                  needed.c_str());
    }
  }
  Laboratory laboratory(topo::Machine::discover(), place, options.quick);
  Report report;
  std::istringstream words(options.application);
  for (std::string word; words >> word;) laboratory.application.push_back(word);
  laboratory.application_ranks = options.application_ranks;
  for (const std::string& prefix : options.prefixes) {
    if (laboratory.add_peer(prefix).ok()) continue;
    report.notes.push_back(fmt::format("without the library in {}: {}", prefix, last_failure_text()));
    fmt::print(stderr, "hearth: {}\n", report.notes.back());
  }
  if (options.quick) {
    report.notes.emplace_back(
        "a quick run: it shows that everything runs; its numbers and verdicts mean little");
  } else if (!machine_is_idle()) {
    report.notes.emplace_back("other programs were running when this began; they disturb what is measured");
    fmt::print(stderr, "hearth: note: {}\n", report.notes.back());
  }
  const double begin = now_s();
  std::string failed;
  for (size_t i = 0; i < chosen.size(); ++i) {
    Result result;
    result.experiment = chosen[i];
    const double from = now_s();
    fmt::print(stderr, "[{}/{}] {} ...\n", i + 1, chosen.size(), chosen[i]->name);
    if (!chosen[i]->measure(laboratory, result.findings).ok()) {
      result.findings.missing = fmt::format("it failed: {}", last_failure_text());
      failed += fmt::format("{}{}", failed.empty() ? "" : ", ", chosen[i]->name);
    }
    result.judgements = judgements_of(*chosen[i], result.findings);
    result.seconds = now_s() - from;
    print_result(result);
    report.results.push_back(std::move(result));
  }
  describe(laboratory, now_s() - begin, report);
  fmt::print("\n{}\n", summary_words(report));
  if (!options.page_file.empty()) HEARTH_TRY(write_file(options.page_file, to_page(report)));
  if (!options.json_file.empty()) HEARTH_TRY(write_file(options.json_file, to_json(report).dump(1) + '\n'));
  if (!failed.empty()) return fail(MPI_ERR_OTHER, "these experiments failed: %s", failed.c_str());
  return {};
}

}  // namespace hearth::tools
