#include "paper/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "chart.h"
#include "pretty.h"
#include "profile/markup.h"

namespace hearth::tools::paper {
namespace {

using profile::Cell;
using profile::escaped;
using profile::Table;

constexpr const char* kStyle = R"(<style>
body { max-width: 1180px }
.pair { display: grid; grid-template-columns: minmax(260px, 4fr) minmax(0, 7fr); gap: 8px 36px;
  align-items: start }
.pair > div { min-width: 0 }
@media (max-width: 860px) { .pair { grid-template-columns: minmax(0, 1fr) } }
.badge { display: inline-block; padding: 1px 9px; border-radius: 9px; border: 1.5px solid currentColor;
  font-size: 12px; font-weight: 600; white-space: nowrap }
.v-0 { color: var(--green) } .v-1 { color: var(--orange) } .v-2 { color: var(--soft) }
section { border-top: 1px solid var(--line); margin-top: 36px } section h2 { margin-top: 20px }
.claim { margin: 14px 0 0; font-weight: 600 } .because { margin: 6px 0 4px } .rule { font-size: 13px }
.claim .soft { font-weight: 400 }
ul.notes { color: var(--soft); font-size: 13px; padding-left: 18px; margin: 8px 0 }
a { color: var(--blue) }
</style>
)";

std::string badge(Verdict verdict) {
  return fmt::format("<span class=\"badge v-{}\">{}</span>", static_cast<int>(verdict),
                     verdict_words(verdict));
}

Panel panel_of(const Plot& plot) {
  Panel panel{plot.title, plot.unit, {}, plot.marks, plot.places, plot.powers, true};
  for (const Curve& curve : plot.curves) {
    Series series{curve.name, {}};
    for (const Point& point : curve.points) series.points.emplace_back(point.place, point.value.middle);
    if (!series.points.empty()) panel.series.push_back(std::move(series));
  }
  return panel;
}

std::string draw(const Matrix& matrix) {
  const size_t count = matrix.names.size();
  constexpr double kLeft = 44, kTop = 46, kSide = 52;
  const double extent = kSide * static_cast<double>(count);
  double least = 0, most = 0;
  for (const double value : matrix.values) {
    if (value <= 0) continue;
    least = least == 0 ? value : std::min(least, value);
    most = std::max(most, value);
  }
  const std::string title = fmt::format("{}, {}", matrix.title, matrix.unit);
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"img\">\n<title>{2}</title>\n"
      "<text class=\"panel\" x=\"0\" y=\"14\">{2}</text>\n",
      std::max(kLeft + extent + 8, 20 + 7.2 * static_cast<double>(title.size())), kTop + extent + 8,
      escaped(title));
  for (size_t i = 0; i < count; ++i) {
    const double at = kSide * (static_cast<double>(i) + 0.5);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                       kTop + at + 4, escaped(matrix.names[i]));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", kLeft + at,
                       kTop - 8, escaped(matrix.names[i]));
  }
  for (size_t row = 0; row < count; ++row) {
    for (size_t column = 0; column < count; ++column) {
      const double value = matrix.values[row * count + column];
      const double x = kLeft + kSide * static_cast<double>(column),
                   y = kTop + kSide * static_cast<double>(row);
      const double shade = value <= 0     ? 0
                           : most > least ? 0.15 + 0.85 * (value - least) / (most - least)
                                          : 0.6;
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" class=\"{}\" "
          "fill-opacity=\"{:.2f}\"/>\n",
          x, y, kSide - 2, kSide - 2, value > 0 ? "k-heat" : "k-empty", value > 0 ? shade : 1);
      if (value > 0) {
        out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" class=\"{}\">{}</text>\n",
                           x + kSide / 2 - 1, y + kSide / 2 + 4, shade > 0.5 ? "on-heat" : "strong",
                           three_digits(value));
      }
    }
  }
  return out + "</svg>\n";
}

std::string place_words(const Plot& plot, double place) {
  return plot.places.empty() ? bytes_text(static_cast<uint64_t>(place)) : fmt::format("{:g}", place);
}

/// All numbers of the plots, and the ratios with their intervals.
std::string numbers_of(const Findings& findings) {
  std::string out;
  for (const Plot& plot : findings.plots) {
    std::vector<std::string> columns = {plot.places.empty() ? "bytes of a message" : plot.places};
    std::vector<double> places;
    for (const Curve& curve : plot.curves) {
      columns.push_back("#" + curve.name);
      for (const Point& point : curve.points) places.push_back(point.place);
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    Table table(columns);
    for (const double place : places) {
      std::vector<Cell> row = {Cell(place_words(plot, place))};
      for (const Curve& curve : plot.curves) {
        const tune::Interval* value = curve.at(place);
        row.emplace_back(value == nullptr ? "" : three_digits(value->middle));
      }
      table.row(row);
    }
    out += fmt::format("<p class=\"soft\">{}, {} (medians)</p>\n", escaped(plot.title), escaped(plot.unit)) +
           table.end();
  }
  if (!findings.ratios.empty()) {
    Table table({"ratio", "#at", "#median", "#95 % interval", "#pairs"});
    for (const Curve& ratio : findings.ratios) {
      for (const Point& point : ratio.points) {
        const bool told = point.value.low > 0 && std::isfinite(point.value.high);
        table.row(
            {ratio.name, fmt::format("{:g}", point.place), three_digits(point.value.middle),
             told ? fmt::format("{} to {}", three_digits(point.value.low), three_digits(point.value.high))
                  : "-",
             std::to_string(point.value.count)});
      }
    }
    out += table.end();
  }
  return out;
}

std::string claims_of(const Result& result) {
  std::string out;
  for (size_t i = 0; i < result.judgements.size(); ++i) {
    const Claim& claim = result.experiment->claims[i];
    const Judgement& judgement = result.judgements[i];
    out += fmt::format("<p class=\"claim\">{} <span class=\"soft\">({})</span></p>\n", escaped(claim.words),
                       escaped(claim.place));
    out +=
        fmt::format("<p class=\"because\">{} {}</p>\n", badge(judgement.verdict), escaped(judgement.because));
    out += fmt::format("<p class=\"soft rule\">Rule: {}.</p>\n", escaped(claim.rule));
  }
  return out;
}

std::string section_of(const Result& result) {
  const Experiment& experiment = *result.experiment;
  std::string out = fmt::format(
      "<section id=\"{}\"><h2>{}</h2>\n<p class=\"soft\">{}: {}. <code>hearth bench paper {}</code></p>\n",
      escaped(experiment.name), escaped(experiment.title), escaped(experiment.paper.authors),
      escaped(experiment.paper.title), escaped(experiment.name));
  out += "<div class=\"pair\"><div>\n" + claims_of(result) + "</div><div>\n";
  for (const Plot& plot : result.findings.plots) {
    const Panel panel = panel_of(plot);
    if (!panel.series.empty()) out += draw_element(panel);
  }
  for (const Matrix& matrix : result.findings.matrices) out += draw(matrix);
  for (const Listing& listing : result.findings.listings) {
    Table table(listing.columns);
    for (const auto& row : listing.rows) table.row(std::vector<Cell>(row.begin(), row.end()));
    out += fmt::format("<p class=\"soft\">{}</p>\n", escaped(listing.title)) + table.end();
  }
  out += "</div></div>\n";
  out += fmt::format("<p class=\"soft rule\">Measured: {}</p>\n", escaped(experiment.method));
  if (!result.findings.notes.empty()) {
    out += "<ul class=\"notes\">";
    for (const std::string& note : result.findings.notes) out += "<li>" + escaped(note) + "</li>";
    out += "</ul>\n";
  }
  const std::string numbers = numbers_of(result.findings);
  if (!numbers.empty()) out += "<details><summary>All numbers</summary>\n" + numbers + "</details>\n";
  return out + "</section>\n";
}

std::string overview_of(const Report& report) {
  Table table({"experiment", "paper", "claim", "verdict"});
  for (const Result& result : report.results) {
    for (size_t i = 0; i < result.judgements.size(); ++i) {
      const Experiment& experiment = *result.experiment;
      table.row({i == 0 ? Cell::of_markup(fmt::format("<a href=\"#{}\">{}</a>", escaped(experiment.name),
                                                      escaped(experiment.name)))
                        : Cell(""),
                 i == 0 ? Cell(experiment.paper.key) : Cell(""), Cell(experiment.claims[i].words),
                 Cell::of_markup(badge(result.judgements[i].verdict))});
    }
  }
  return table.end();
}

}  // namespace

std::string summary_words(const Report& report) {
  int count[3] = {0, 0, 0}, all = 0;
  for (const Result& result : report.results) {
    for (const Judgement& judgement : result.judgements) {
      ++count[static_cast<int>(judgement.verdict)];
      ++all;
    }
  }
  return fmt::format("{} of {} claims {} confirmed on this machine, {} {} not, {} cannot be measured here.",
                     count[0], all, count[0] == 1 ? "is" : "are", count[1], count[1] == 1 ? "is" : "are",
                     count[2]);
}

std::string to_page(const Report& report) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Hearth: the papers' "
      "experiments</title>\n";
  out += std::string(profile::page_style()) + chart_style() + kStyle + "</head>\n<body>\n";
  out += "<header><h1>Hearth: the papers' experiments</h1>\n<p class=\"verdict\">" +
         escaped(summary_words(report)) + "</p>\n";
  out += "<dl class=\"facts\">";
  for (const auto& [name, value] : report.facts) out += profile::fact(name, value);
  out += "</dl>\n";
  if (!report.notes.empty()) {
    out += "<ul class=\"notes\">";
    for (const std::string& note : report.notes) out += "<li>" + escaped(note) + "</li>";
    out += "</ul>\n";
  }
  out += "</header>\n<main>\n" + overview_of(report);
  for (const Result& result : report.results) out += section_of(result);
  return out +
         "</main>\n<footer>Ways that are compared take turns, mostly within one job; a ratio is the median "
         "over neighbouring turns, "
         "with a 95 % interval by the sign test, and surely means that the whole interval is on that side. "
         "docs/design/paper.md says "
         "how each experiment is made.</footer>\n</body>\n</html>\n";
}

Json to_json(const Report& report) {
  Json json = {{"hearth_paper", 1}, {"summary", summary_words(report)}};
  json["facts"] = Json::object();
  for (const auto& [name, value] : report.facts) json["facts"][name] = value;
  json["notes"] = report.notes;
  json["experiments"] = Json::array();
  for (const Result& result : report.results) {
    const Experiment& experiment = *result.experiment;
    Json claims = Json::array();
    for (size_t i = 0; i < result.judgements.size(); ++i) {
      claims.push_back({{"place", experiment.claims[i].place},
                        {"claim", experiment.claims[i].words},
                        {"rule", experiment.claims[i].rule},
                        {"verdict", verdict_words(result.judgements[i].verdict)},
                        {"because", result.judgements[i].because}});
    }
    Json row = {{"name", experiment.name},     {"title", experiment.title}, {"paper", experiment.paper.key},
                {"method", experiment.method}, {"seconds", result.seconds}, {"claims", claims}};
    row.update(to_json(result.findings));
    json["experiments"].push_back(std::move(row));
  }
  return json;
}

}  // namespace hearth::tools::paper
