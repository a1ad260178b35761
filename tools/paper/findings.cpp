#include "paper/findings.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace hearth::tools::paper {
namespace {

const Curve& find(const std::vector<Curve>& curves, const std::string& name) {
  static const Curve kNone;
  const auto found =
      std::find_if(curves.begin(), curves.end(), [&name](const Curve& curve) { return curve.name == name; });
  return found == curves.end() ? kNone : *found;
}

Curve transformed(const Samples& samples, const std::string& series, const std::string& name,
                  double (*value_of)(double value, double place, double factor), double factor) {
  Curve curve{name, {}};
  for (const double place : samples.places_of(series)) {
    std::vector<double> values;
    for (const double value : samples.of(series, place))
      if (value > 0) values.push_back(value_of(value, place, factor));
    if (!values.empty()) curve.points.push_back({place, tune::median_interval(std::move(values))});
  }
  return curve;
}

/// JSON has no infinity.
Json bound(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json to_json(const std::vector<Curve>& curves) {
  Json rows = Json::array();
  for (const Curve& curve : curves) {
    Json points = Json::array();
    for (const Point& point : curve.points) {
      points.push_back({{"place", point.place},
                        {"median", point.value.middle},
                        {"low", bound(point.value.low)},
                        {"high", bound(point.value.high)},
                        {"count", point.value.count}});
    }
    rows.push_back({{"name", curve.name}, {"points", points}});
  }
  return rows;
}

}  // namespace

const std::vector<double>& Samples::of(const std::string& series, double place) const {
  static const std::vector<double> kNone;
  const auto found = values_.find({series, place});
  return found == values_.end() ? kNone : found->second;
}

std::vector<double> Samples::places_of(const std::string& series) const {
  std::vector<double> places;
  for (const auto& [key, values] : values_)
    if (key.first == series) places.push_back(key.second);
  return places;
}

const tune::Interval* Curve::at(double place) const {
  const auto found = std::find_if(points.begin(), points.end(),
                                  [place](const Point& point) { return point.place == place; });
  return found == points.end() ? nullptr : &found->value;
}

const Curve& Findings::curve(const std::string& name) const {
  for (const Plot& plot : plots) {
    const Curve& found = find(plot.curves, name);
    if (!found.points.empty()) return found;
  }
  return find({}, name);
}

const Curve& Findings::ratio(const std::string& name) const {
  return find(ratios, name);
}

double Findings::number(const std::string& name) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

Curve curve_of(const Samples& samples, const std::string& series, const std::string& name, double factor) {
  return transformed(
      samples, series, name, [](double value, double, double times) { return value * times; }, factor);
}

Curve bandwidth_of(const Samples& samples, const std::string& series, const std::string& name,
                   double factor) {
  return transformed(
      samples, series, name, [](double value, double place, double times) { return times * place / value; },
      factor);
}

Curve ratio_of(const Samples& samples, const std::string& above, const std::string& below,
               const std::string& name) {
  Curve curve{name, {}};
  for (const double place : samples.places_of(above)) {
    const std::vector<double>&a = samples.of(above, place), &b = samples.of(below, place);
    std::vector<double> ratios;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (a[i] > 0 && b[i] > 0) ratios.push_back(a[i] / b[i]);
    if (!ratios.empty()) curve.points.push_back({place, tune::median_interval(std::move(ratios))});
  }
  return curve;
}

Json to_json(const Findings& findings) {
  Json json = Json::object();
  json["plots"] = Json::array();
  for (const Plot& plot : findings.plots) {
    json["plots"].push_back({{"title", plot.title},
                             {"unit", plot.unit},
                             {"places", plot.places.empty() ? "bytes of a message" : plot.places},
                             {"curves", to_json(plot.curves)}});
  }
  json["matrices"] = Json::array();
  for (const Matrix& matrix : findings.matrices) {
    json["matrices"].push_back(
        {{"title", matrix.title}, {"unit", matrix.unit}, {"names", matrix.names}, {"values", matrix.values}});
  }
  json["listings"] = Json::array();
  for (const Listing& listing : findings.listings)
    json["listings"].push_back(
        {{"title", listing.title}, {"columns", listing.columns}, {"rows", listing.rows}});
  json["ratios"] = to_json(findings.ratios);
  json["numbers"] = findings.numbers;
  json["notes"] = findings.notes;
  if (!findings.missing.empty()) json["missing"] = findings.missing;
  return json;
}

}  // namespace hearth::tools::paper
