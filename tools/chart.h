// A picture of measurements: panels side by side, values on a logarithmic axis over lengths on another one,
// or over something else on a linear one, as one SVG file that reads well on light and on dark ground, or as
// part of a page. Called by `hearth bench --plot`, `hearth tune --plot` and `hearth bench paper`.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hearth::tools {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (place, value), places rising
};

struct Panel {
  std::string title;
  std::string unit;  // of the values
  std::vector<Series> series;
  std::vector<std::pair<double, std::string>> marks =
      {};  // places worth a line from top to bottom, with words
  /// What the places are; "" for lengths, on a logarithmic axis.
  std::string places = {};
  bool powers = false;  // places that are no lengths on a logarithmic axis too
  bool fit = false;     // as a page has it: axes no longer than the places, values within a factor of
                        // twenty on a linear axis from 0
};

/// The whole file. Lengths below 1 byte are drawn at 1 byte; values that are not above 0 are left out.
std::string draw_chart(const std::string& title, const std::vector<Panel>& panels);
/// One panel as an element of a page that has the style once.
std::string draw_element(const Panel& panel);
/// A <style> element.
const char* chart_style();

}  // namespace hearth::tools
