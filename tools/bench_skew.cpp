#include "bench_skew.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/param.h"
#include "chart.h"
#include "floors.h"
#include "installation.h"
#include "mpi.h"
#include "output_file.h"
#include "pretty.h"
#include "program_lines.h"
#include "tune/interval.h"

namespace hearth::tools {
namespace {

using Json = nlohmann::ordered_json;

// A window of this length fits into the bounce buffers of a rank, with a margin.
constexpr uint64_t kWindowBytes = uint64_t{1} << 20;
constexpr int kWindowMax = 64;
// "Never" as a length that fits into a control variable.
constexpr uint64_t kNeverBytes = uint64_t{1} << 60;

enum SkewProtocol : size_t { buffered, lent, aware, kWays };
constexpr std::array<const char*, kWays> kNames = {"buffered only", "single copy only", "skew-aware"};

std::string name_of(param::Id id) {
  return param::rows()[static_cast<size_t>(id)].name;
}

std::string settings_of(SkewProtocol way, bool from_mpi) {
  const uint64_t never_lent = way == buffered ? kNeverBytes : 0;
  return fmt::format("{}={} {}={} {}={} {}={}", name_of(param::Id::p2p_arena_bytes_min),
                     from_mpi ? never_lent : kNeverBytes, name_of(param::Id::p2p_single_copy_bytes_min),
                     from_mpi ? kNeverBytes : never_lent,
                     name_of(param::Id::p2p_single_copy_measured_bytes_min), kNeverBytes,
                     name_of(param::Id::p2p_skew), way == aware ? 1 : 0);
}

int window_of(uint64_t bytes) {
  return static_cast<int>(std::clamp<uint64_t>(kWindowBytes / bytes, 1, kWindowMax));
}

std::vector<std::string> command_of(const SkewOptions& options, const Installation& place) {
  std::vector<std::string> words{place.launcher.string(),
                                 "-n",
                                 "2",
                                 place.skew_probe.string(),
                                 std::to_string(options.bytes),
                                 options.from_mpi ? "mpi" : "malloc",
                                 std::to_string(window_of(options.bytes)),
                                 std::to_string(options.rounds),
                                 fmt::format("{}", fmt::join(options.delays, ","))};
  for (size_t way = 0; way < kWays; ++way)
    words.push_back(settings_of(static_cast<SkewProtocol>(way), options.from_mpi));
  return words;
}

/// Parses the output of the probe (bench/skew_probe.c) and prints a row per delay.
class SkewTable {
 public:
  explicit SkewTable(const SkewOptions& options) : options_(options) {}

  bool take(const std::string& line) {
    size_t way;
    double first, second;
    if (std::sscanf(line.c_str(), "copy %lf", &copy_ns_) == 1) {
      begin();
    } else if (std::sscanf(line.c_str(), "block %lf %zu %lf", &first, &way, &second) == 3 && way < kWays) {
      delay_ = first;
      blocks_[way].push_back(second);
    } else if (std::sscanf(line.c_str(), "end %lf", &first) == 1) {
      end_point(first);
    } else {
      return false;
    }
    return true;
  }

  const std::vector<SkewPoint>& points() const { return points_; }
  const Floors& floors() const { return floors_; }

  Json document() const {
    Json rows = Json::array();
    for (size_t i = 0; i < points_.size(); ++i) {
      const SkewPoint& point = points_[i];
      rows.push_back({{"delay_copies", point.delay},
                      {"buffered_ns", point.buffered_ns},
                      {"single_copy_ns", point.lent_ns},
                      {"skew_aware_ns", point.aware_ns},
                      {"ratio", point.ratio()},
                      {"floor_ns", point_floors_[i]}});
    }
    return {{"bytes", options_.bytes},
            {"alloc", options_.from_mpi ? "mpi" : "malloc"},
            {"window", window_of(options_.bytes)},
            {"copy_ns", copy_ns_},
            {"verdict", skew_verdict(points_)},
            {"points", rows}};
  }

 private:
  void begin() const {
    fmt::print(
        "windows of {} messages of {} in {} buffers; one copy takes {} us\n"
        "the producer's time for a message, its buffer's rewriting included, by how long the consumer works "
        "on "
        "each\n\n{:>9}",
        window_of(options_.bytes), bytes_text(options_.bytes), options_.from_mpi ? "MPI_Alloc_mem" : "malloc",
        three_digits(copy_ns_ / 1e3), "delay");
    for (const char* name : kNames) fmt::print("  {:>17}", name);
    fmt::print("  {:>19}\n{:>9}", "skew-aware to the", "copies");
    for (size_t way = 0; way < kWays; ++way) fmt::print("  {:>17}", "us");
    fmt::print("  {:>19}\n", "better of the two");
    std::fflush(stdout);
  }

  void end_point(double floor_ns) {
    const SkewPoint point = {delay_, tune::median(blocks_[buffered]), tune::median(blocks_[lent]),
                             tune::median(blocks_[aware])};
    fmt::print("{:>9g}", point.delay);
    for (const double ns : {point.buffered_ns, point.lent_ns, point.aware_ns})
      fmt::print("  {:>17}", three_digits(ns / 1e3));
    fmt::print("  {:>19.2f}\n", point.ratio());
    std::fflush(stdout);
    points_.push_back(point);
    point_floors_.push_back(floor_ns);
    floors_.add(floor_ns);
    blocks_ = {};
  }

  const SkewOptions& options_;
  double copy_ns_ = 0;
  double delay_ = 0;
  std::array<std::vector<double>, kWays> blocks_;
  std::vector<SkewPoint> points_;
  std::vector<double> point_floors_;
  Floors floors_;
};

std::string skew_chart(const SkewOptions& options, const std::vector<SkewPoint>& points) {
  Panel panel = {
      "the producer's time for a message", "us", {}, {}, "what the consumer works on each, in copies"};
  for (const char* name : kNames) panel.series.push_back({name, {}});
  for (const SkewPoint& point : points) {
    panel.series[buffered].points.emplace_back(point.delay, point.buffered_ns / 1e3);
    panel.series[lent].points.emplace_back(point.delay, point.lent_ns / 1e3);
    panel.series[aware].points.emplace_back(point.delay, point.aware_ns / 1e3);
  }
  return draw_chart(fmt::format("A consumer that lags, messages of {}", bytes_text(options.bytes)), {panel});
}

Status check_options(const SkewOptions& options) {
  if (options.bytes == 0 || options.bytes > kWindowBytes) {
    return fail(MPI_ERR_ARG,
                "a message of %llu bytes cannot be buffered, so there is nothing to choose. Remedy: "
                "--sizes with one length up to %llu",
                static_cast<unsigned long long>(options.bytes),
                static_cast<unsigned long long>(kWindowBytes));
  }
  return {};
}

}  // namespace

SkewSettings skew_settings(bool from_mpi) {
  return {settings_of(buffered, from_mpi), settings_of(lent, from_mpi), settings_of(aware, from_mpi)};
}

double SkewPoint::ratio() const {
  const double better = std::min(buffered_ns, lent_ns);
  return better > 0 ? aware_ns / better : 0;
}

std::string skew_verdict(const std::vector<SkewPoint>& points) {
  std::string behind;
  for (const SkewPoint& point : points) {
    if (point.ratio() <= 1 + kSkewLossMax) continue;
    behind += fmt::format("{}{:g} ({:.2f})", behind.empty() ? "" : ", ", point.delay, point.ratio());
  }
  if (points.empty()) return "nothing was measured";
  if (behind.empty()) {
    return fmt::format("skew-aware is within {:.0f} % of the better of the two at all {} delays",
                       100 * kSkewLossMax, points.size());
  }
  return fmt::format("skew-aware is more than {:.0f} % behind the better of the two at delay {}",
                     100 * kSkewLossMax, behind);
}

Status run_skew(const SkewOptions& options) {
  HEARTH_TRY(check_options(options));
  Installation place;
  HEARTH_TRY(find_installation(place));
  SkewTable table(options);
  HEARTH_TRY(for_each_line(command_of(options, place),
                           [&table](const std::string& line) { return table.take(line); }));
  fmt::print("\n{}\n", skew_verdict(table.points()));
  table.floors().print();
  if (!options.json_file.empty()) HEARTH_TRY(write_file(options.json_file, table.document().dump(1) + '\n'));
  if (!options.plot_file.empty())
    HEARTH_TRY(write_file(options.plot_file, skew_chart(options, table.points())));
  return {};
}

}  // namespace hearth::tools
