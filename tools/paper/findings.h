// What an experiment of `hearth bench paper` has found, before and after it is judged: curves with intervals,
// to be drawn, listed, written as JSON and held against the paper's claims. Knows nothing of how it was
// measured, so that tests judge made-up numbers. One thread.
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

/// What the probe printed: values by series and place, in the order of the rounds.
class Samples {
 public:
  void add(const std::string& series, double place, double value) {
    values_[{series, place}].push_back(value);
  }
  /// Empty where nothing was measured.
  const std::vector<double>& of(const std::string& series, double place) const;
  /// Rising.
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
  std::vector<Point> points;  // places rising

  /// The value at the place; null where it was not measured.
  const tune::Interval* at(double place) const;
};

/// One plot and what is in it; values and places in its units.
struct Plot {
  std::string title;
  std::string unit;
  std::string places;   // what the places are; "" for lengths of messages
  bool powers = false;  // places on a logarithmic axis; lengths always are
  std::vector<Curve> curves = {};
  std::vector<std::pair<double, std::string>> marks = {};
};

/// A value for each pair of rows and columns that have names of their own, cores for example; 0: not
/// measured.
struct Matrix {
  std::string title;
  std::string unit;
  std::vector<std::string> names;
  std::vector<double> values;  // row by row
};

/// What is better read than drawn. A column's name begins with '#' where it holds numbers.
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
  /// Why nothing can be said here, whatever was measured; "" where something can.
  std::string missing;

  /// Of all plots and ratios; an empty one where there is none of that name.
  const Curve& curve(const std::string& name) const;
  const Curve& ratio(const std::string& name) const;
  double number(const std::string& name) const;
};

/// The medians of a series, each value times `factor`; or, with `per`, factor * place / value: a bandwidth.
Curve curve_of(const Samples& samples, const std::string& series, const std::string& name, double factor);
Curve bandwidth_of(const Samples& samples, const std::string& series, const std::string& name, double factor);
/// The ratio of two series, round by round, at the places that both have.
Curve ratio_of(const Samples& samples, const std::string& above, const std::string& below,
               const std::string& name);

Json to_json(const Findings& findings);

}  // namespace hearth::tools::paper
