// The results of an experiment of `hearth bench paper`, before and after its verdict: curves with intervals,
// for plots, lists, JSON and comparison with the paper's claims. Independent of how they were measured, so
// that tests can judge artificial numbers. One thread.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tune/interval.h"

namespace hearth::tools::paper {

using Json = nlohmann::ordered_json;

/// The probe's values by series and place, in the order of the rounds.
class Samples {
 public:
  void add(const std::string& series, double place, double value) {
    values_[{series, place}].push_back(value);
  }
  /// Empty if nothing was measured.
  const std::vector<double>& of(const std::string& series, double place) const;
  /// In increasing order.
  std::vector<double> places_of(const std::string& series) const;
  bool has(const std::string& series) const { return !places_of(series).empty(); }

 private:
  std::map<std::pair<std::string, double>, std::vector<double>> values_;
};

struct Point {
  double place = 0;
  tune::Interval value;
};

struct Curve {
  std::string name;
  std::vector<Point> points;  // places increasing

  /// The value at the place; nullptr if it was not measured.
  const tune::Interval* at(double place) const;
};

/// One plot and its contents; values and places in its units.
struct Plot {
  std::string title;
  std::string unit;
  std::string places;   // the quantity of the places; "" for lengths of messages
  bool powers = false;  // places on a logarithmic axis; lengths always are
  std::vector<Curve> curves = {};
  std::vector<std::pair<double, std::string>> marks = {};
};

/// A value for each pair of rows and columns with names, for example cores; 0: not measured.
struct Matrix {
  std::string title;
  std::string unit;
  std::vector<std::string> names;
  std::vector<double> values;  // row by row
};

/// Results to be listed, not drawn. The name of a column with numbers begins with '#'.
struct Listing {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Findings {
  std::vector<Plot> plots;
  std::vector<Matrix> matrices;
  std::vector<Listing> listings;
  /// Ratios of two series, paired round by round.
  std::vector<Curve> ratios;
  /// Single numbers that a rule needs: "second_level_bytes".
  std::map<std::string, double> numbers;
  std::vector<std::string> notes;
  /// Why there are no results on this machine; "" if there are.
  std::string missing;

  /// Searches all plots and ratios; empty if none has that name.
  const Curve& curve(const std::string& name) const;
  const Curve& ratio(const std::string& name) const;
  double number(const std::string& name) const;
};

/// The medians of a series: curve_of() multiplies by `factor`; bandwidth_of() returns factor * place / value.
Curve curve_of(const Samples& samples, const std::string& series, const std::string& name, double factor);
Curve bandwidth_of(const Samples& samples, const std::string& series, const std::string& name, double factor);
/// The ratio of two series, round by round, at the places that both have.
Curve ratio_of(const Samples& samples, const std::string& above, const std::string& below,
               const std::string& name);

Json to_json(const Findings& findings);

}  // namespace hearth::tools::paper
