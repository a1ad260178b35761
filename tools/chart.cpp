#include "chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pretty.h"
#include "profile/markup.h"

namespace hearth::tools {
namespace {

using profile::escaped;

// Positions in user units of the picture.
constexpr double kPanelWidth = 460, kPlotHeight = 260;
constexpr double kLeft = 64, kRight = 24, kTop = 92, kBottom = 56;
constexpr double kLegendRow = 18;
constexpr int kColors = 6;
constexpr double kNarrow = 20;  // values within this factor get a linear axis (`fit`)

constexpr const char* kStyle = R"(<style>
  .ground { fill: #ffffff }
  text { font-family: system-ui, sans-serif; font-size: 12px; fill: #475569 }
  .title { font-size: 16px; font-weight: 600; fill: #0f172a }
  .panel { font-size: 13px; font-weight: 600; fill: #0f172a }
  .grid { stroke: #e2e8f0; stroke-width: 1 }
  .axis { stroke: #94a3b8; stroke-width: 1 }
  .mark { stroke: #94a3b8; stroke-width: 1; stroke-dasharray: 4 3 }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round }
  .c0 { stroke: #0b62c4; color: #0b62c4 } .c1 { stroke: #c2410c; color: #c2410c }
  .c2 { stroke: #15803d; color: #15803d } .c3 { stroke: #7e22ce; color: #7e22ce }
  .c4 { stroke: #0f766e; color: #0f766e } .c5 { stroke: #be123c; color: #be123c }
  .dot { fill: currentColor; stroke: none }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0f172a }
    text { fill: #a8b4c6 }
    .title, .panel { fill: #f1f5f9 }
    .grid { stroke: #27344a }
    .axis, .mark { stroke: #64748b }
    .c0 { stroke: #6cb0ff; color: #6cb0ff } .c1 { stroke: #ff9d5c; color: #ff9d5c }
    .c2 { stroke: #5fd38a; color: #5fd38a } .c3 { stroke: #c89bff; color: #c89bff }
    .c4 { stroke: #4fd1c5; color: #4fd1c5 } .c5 { stroke: #ff8fa3; color: #ff8fa3 }
  }
</style>
)";

/// From the power of `base` below the smallest value to the power above the largest; linear for base 0.
class Axis {
 public:
  Axis(double base, double least, double most, double from, double to)
      : base_(base), unit_(unit(base, most - least)), from_(from), to_(to) {
    low_ = std::floor(steps(least));
    high_ = std::ceil(steps(most));
    if (high_ <= low_) high_ = low_ + 1;
  }
  double at(double value) const { return from_ + (steps(value) - low_) / (high_ - low_) * (to_ - from_); }
  /// At most `count` values, evenly spread.
  std::vector<double> ticks(int count) const {
    const double step = std::max(1.0, std::ceil((high_ - low_) / count));
    std::vector<double> result;
    for (double place = low_; place <= high_; place += step)
      result.push_back(base_ == 0 ? place * unit_ : std::pow(base_, place));
    return result;
  }

 private:
  /// A power of ten of which a linear axis has ten or fewer.
  static double unit(double base, double length) {
    return base != 0 || length <= 0 ? 1 : std::pow(10, std::ceil(std::log10(length)) - 1);
  }
  double steps(double value) const { return base_ == 0 ? value / unit_ : std::log(value) / std::log(base_); }
  double base_, unit_, low_, high_, from_, to_;
};

struct Extent {
  double least_x = 1, most_x = 2, least_y = 1, most_y = 1;
};

bool of_lengths(const Panel& panel) {
  return panel.places.empty();
}

double base_of_places(const Panel& panel) {
  return of_lengths(panel) || panel.powers ? 2 : 0;
}

std::string place_text(const Panel& panel, double place) {
  return of_lengths(panel) ? bytes_text(static_cast<uint64_t>(place)) : fmt::format("{:g}", place);
}

std::vector<std::pair<double, double>> drawable(const Panel& panel, const Series& series) {
  std::vector<std::pair<double, double>> points;
  for (const auto& [x, y] : series.points) {
    if (y > 0) points.emplace_back(of_lengths(panel) ? std::max(x, 1.0) : x, y);
  }
  return points;
}

Extent extent_of(const Panel& panel) {
  Extent extent;
  bool first_place = panel.fit && base_of_places(panel) != 0;
  if (!of_lengths(panel)) extent.least_x = 0;
  bool first = true;
  for (const Series& series : panel.series) {
    for (const auto& [x, y] : drawable(panel, series)) {
      extent.most_x = first_place ? x : std::max(extent.most_x, x);
      extent.least_x = first_place ? x : std::min(extent.least_x, x);
      first_place = false;
      extent.least_y = first ? y : std::min(extent.least_y, y);
      extent.most_y = first ? y : std::max(extent.most_y, y);
      first = false;
    }
  }
  return extent;
}

std::string draw_series(const Panel& panel, const Series& series, const std::string& color,
                        const Axis& x_axis, const Axis& y_axis) {
  std::string path, dots;
  for (const auto& [x, y] : drawable(panel, series)) {
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : " L", x_axis.at(x), y_axis.at(y));
    dots += fmt::format(
        "<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}: {} {}</title></circle>\n",
        color, x_axis.at(x), y_axis.at(y), escaped(series.name), place_text(panel, x), three_digits(y));
  }
  return path.empty() ? "" : fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", color, path) + dots;
}

/// Row and position of each name of a legend.
std::vector<std::pair<int, double>> legend_of(const Panel& panel) {
  std::vector<std::pair<int, double>> places;
  int row = 0;
  double at = 0;
  for (const Series& series : panel.series) {
    const double width = 34 + 6.4 * static_cast<double>(series.name.size());
    if (at > 0 && at + width > kPanelWidth - kLeft) {
      ++row;
      at = 0;
    }
    places.emplace_back(row, at);
    at += width;
  }
  return places;
}

/// Height above the plots: depends on the rows of the longest legend.
double top_of(const std::vector<Panel>& panels) {
  int rows = 1;
  for (const Panel& panel : panels)
    if (panel.series.size() > 1) rows = std::max(rows, legend_of(panel).back().first + 1);
  return kTop + kLegendRow * (rows - 1);
}

std::string draw_panel(const Panel& panel, double left, double top) {
  Extent extent = extent_of(panel);
  const double x0 = left + kLeft, x1 = left + kPanelWidth - kRight, y0 = top + kPlotHeight, y1 = top;
  const bool linear = panel.fit && extent.most_y < kNarrow * extent.least_y;
  if (linear) extent.least_y = 0;
  const Axis x_axis(base_of_places(panel), extent.least_x, extent.most_x, x0, x1);
  const Axis y_axis(linear ? 0 : 10, extent.least_y, extent.most_y, y0, y1);

  // A single series needs no legend: its name is the panel's title.
  const bool single = panel.series.size() == 1;
  const std::vector<std::pair<int, double>> legend = legend_of(panel);
  std::string title = single ? panel.series[0].name : panel.title;
  if (single && panel.fit) title = fmt::format("{}: {}", panel.title, panel.series[0].name);
  std::string out =
      fmt::format("<text class=\"panel\" x=\"{:.1f}\" y=\"{:.1f}\">{}, {}</text>\n", x0,
                  single ? top - 16 : top - 36 - kLegendRow * (legend.empty() ? 0 : legend.back().first),
                  escaped(title), escaped(panel.unit));
  for (const double tick : x_axis.ticks(6)) {
    const double x = x_axis.at(tick);
    out += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>\n",
                       x, y0, y1);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x, y0 + 18,
                       place_text(panel, tick));
  }
  for (const double tick : y_axis.ticks(6)) {
    const double y = y_axis.at(tick);
    out += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n",
                       x0, x1, y);
    out +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n", x0 - 8, y + 4, tick);
  }
  out += fmt::format("<line class=\"axis\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x0,
                     y0, x1, y0);
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", (x0 + x1) / 2,
                     y0 + 40, of_lengths(panel) ? "bytes of a message" : escaped(panel.places));
  for (const auto& [bytes, words] : panel.marks) {
    const double x = x_axis.at(std::clamp(bytes, extent.least_x, extent.most_x));
    out += fmt::format("<line class=\"mark\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>\n",
                       x, y0, y1);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", x - 4, y1 + 12,
                       escaped(words));
  }
  for (size_t i = 0; i < panel.series.size(); ++i) {
    const std::string color = fmt::format("c{}", i % kColors);
    out += draw_series(panel, panel.series[i], color, x_axis, y_axis);
    if (single) continue;
    const double x = x0 + legend[i].second,
                 y = top - 14 - kLegendRow * (legend.back().first - legend[i].first);
    out +=
        fmt::format("<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", color, x + 4, y - 4);
    out +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 14, y, escaped(panel.series[i].name));
  }
  return out;
}

std::string begin_svg(double width, double height, const std::string& title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
      width, height, escaped(title));
}

}  // namespace

std::string draw_chart(const std::string& title, const std::vector<Panel>& panels) {
  const double width = kPanelWidth * static_cast<double>(std::max<size_t>(panels.size(), 1));
  const double top = top_of(panels);
  std::string out = begin_svg(width, top + kPlotHeight + kBottom, title);
  out += kStyle;
  out += "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n";
  out += fmt::format("<text class=\"title\" x=\"{:.0f}\" y=\"32\">{}</text>\n", kLeft, escaped(title));
  for (size_t i = 0; i < panels.size(); ++i)
    out += draw_panel(panels[i], kPanelWidth * static_cast<double>(i), top);
  return out + "</svg>\n";
}

std::string draw_element(const Panel& panel) {
  // Leaves out the space for the title of a file.
  const double top = top_of({panel}) - 36;
  return begin_svg(kPanelWidth, top + kPlotHeight + kBottom, panel.title) + draw_panel(panel, 0, top) +
         "</svg>\n";
}

const char* chart_style() {
  return kStyle;
}

}  // namespace hearth::tools
