// Charts of measurements: panels side by side, values on a logarithmic axis over lengths on a logarithmic
// axis, or over another quantity on a linear axis. Output is an SVG file that is readable on light and on
// dark backgrounds, or an element of a page. Called by `hearth bench --plot`, `hearth tune --plot` and
// `hearth bench paper`.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hearth::tools {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (place, value), places increasing
};

struct Panel {
  std::string title;
  std::string unit;  // of the values
  std::vector<Series> series;
  std::vector<std::pair<double, std::string>> marks = {};  // places with a vertical line and its label
  /// The quantity on the horizontal axis; "" for lengths, on a logarithmic axis.
  std::string places = {};
  bool powers = false;  // logarithmic axis for places that are not lengths
  bool fit = false;     // for pages: axes end with the data; values within a factor of twenty get a linear
                        // axis from 0
};

/// The whole file. Lengths below 1 byte are drawn at 1 byte; values of 0 or less are omitted.
std::string draw_chart(const std::string& title, const std::vector<Panel>& panels);
/// One panel as an element of a page, which must contain the style once.
std::string draw_element(const Panel& panel);
/// A <style> element.
const char* chart_style();

}  // namespace hearth::tools
