#include "chart.h"

#include <gtest/gtest.h>

#include <regex>

namespace hearth::tools {
namespace {

/// The coordinates of all dots, in the order of drawing.
std::vector<std::pair<double, double>> dots(const std::string& chart) {
  std::vector<std::pair<double, double>> result;
  const std::regex dot("<circle class=\"dot c\\d\" cx=\"([\\d.]+)\" cy=\"([\\d.]+)\" r=\"3\">");
  for (auto it = std::sregex_iterator(chart.begin(), chart.end(), dot); it != std::sregex_iterator(); ++it) {
    result.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
  }
  return result;
}

TEST(Chart, BothAxesAreLogarithmic) {
  const std::string chart = draw_chart("t", {{"Time", "us", {{"a", {{1, 1}, {16, 10}, {256, 100}}}}}});
  const auto points = dots(chart);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_NEAR(points[1].first - points[0].first, points[2].first - points[1].first, 0.2);
  EXPECT_NEAR(points[1].second - points[0].second, points[2].second - points[1].second, 0.2);
  EXPECT_LT(points[0].first, points[2].first);
  EXPECT_GT(points[0].second, points[2].second) << "more is up";
}

TEST(Chart, LeavesOutWhatHasNoLogarithm) {
  const std::string chart = draw_chart("t", {{"Bandwidth", "GB/s", {{"a", {{0, 0}, {8, 1}, {16, -1}}}}}});
  EXPECT_EQ(dots(chart).size(), 1u);
  EXPECT_EQ(chart.find("nan"), std::string::npos);
  EXPECT_EQ(chart.find("inf"), std::string::npos);
}

TEST(Chart, PlacesOtherThanLengthsAreLinearAndMayBeZero) {
  const Panel panel = {"Time", "us", {{"a", {{0, 1}, {5, 1}, {10, 1}}}}, {}, "delay, in copies"};
  const std::string chart = draw_chart("t", {panel});
  const auto points = dots(chart);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_NEAR(points[1].first - points[0].first, points[2].first - points[1].first, 0.2);
  EXPECT_LT(points[0].first, points[1].first);
  EXPECT_NE(chart.find(">delay, in copies</text>"), std::string::npos);
  EXPECT_EQ(chart.find("KiB"), std::string::npos);
}

TEST(Chart, StandsWithNothingToDraw) {
  EXPECT_TRUE(dots(draw_chart("t", {})).empty());
  EXPECT_TRUE(dots(draw_chart("t", {{"Time", "us", {}}})).empty());
}

TEST(Chart, EscapesNames) {
  const std::string chart = draw_chart("a < b & \"c\"", {});
  EXPECT_NE(chart.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(chart.find("a < b"), std::string::npos);
}

TEST(Chart, NamesSeriesOnlyWhereThereAreSeveral) {
  const Series one{"first", {{1, 1}}}, two{"second", {{1, 2}}};
  EXPECT_NE(draw_chart("t", {{"Time", "us", {one, two}}}).find(">second</text>"), std::string::npos);
  EXPECT_EQ(draw_chart("t", {{"Time", "us", {two}}}).find(">second</text>"), std::string::npos);
}

TEST(Chart, MarksStandAtTheirLength) {
  const std::string chart =
      draw_chart("t", {{"Time", "us", {{"a", {{1, 1}, {16, 10}, {256, 100}}}}, {{16, "here"}}}});
  std::smatch mark;
  ASSERT_TRUE(std::regex_search(chart, mark, std::regex("<line class=\"mark\" x1=\"([\\d.]+)\"")));
  EXPECT_DOUBLE_EQ(std::stod(mark[1]), dots(chart)[1].first);
  EXPECT_NE(chart.find(">here</text>"), std::string::npos);
}

TEST(Chart, ReadsOnDarkGroundToo) {
  EXPECT_NE(draw_chart("t", {}).find("prefers-color-scheme: dark"), std::string::npos);
}

}  // namespace
}  // namespace hearth::tools
