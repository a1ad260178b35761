#include "bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/os_io.h"
#include "chart.h"
#include "driver_reader.h"
#include "floors.h"
#include "installation.h"
#include "launched.h"
#include "mpi.h"
#include "output_file.h"
#include "pretty.h"
#include "route.h"

namespace hearth::tools {
namespace {

using Json = nlohmann::ordered_json;

/// How a case is shown: its column and the value in it.
struct View {
  const char* name;
  const char* title;
  const char* unit;
  const char* plot_title;
  const char* plot_unit;
  double (*value)(double ns, double bytes, int pairs);
  double (*plot_value)(double ns, double bytes, int pairs);
};

double microseconds(double ns, double, int) {
  return ns / 1e3;
}
double megabytes_per_second(double ns, double bytes, int pairs) {
  return ns > 0 ? pairs * bytes * 1e3 / ns : 0;
}
double gigabytes_per_second(double ns, double bytes, int pairs) {
  return ns > 0 ? pairs * bytes / ns : 0;
}
double millions_per_second(double ns, double, int pairs) {
  return ns > 0 ? pairs * 1e3 / ns : 0;
}

constexpr const char* kTime = "Time";
constexpr const char* kBandwidth = "Bandwidth";
constexpr const char* kRate = "Messages";
constexpr View kViews[] = {
    {"latency", "half round trip", "us", kTime, "us", microseconds, microseconds},
    {"bandwidth", "bandwidth", "MB/s", kBandwidth, "GB/s", megabytes_per_second, gigabytes_per_second},
    {"bidirectional", "both ways", "MB/s", kBandwidth, "GB/s", megabytes_per_second, gigabytes_per_second},
    {"rate", "64 in flight", "million/s", kRate, "million/s", millions_per_second, millions_per_second},
    {"pairs", "all pairs", "million/s", kRate, "million/s", millions_per_second, millions_per_second},
    {"unexpected", "unexpected", "us", kTime, "us", microseconds, microseconds},
};

const View* find_view(const std::string& name) {
  for (const View& view : kViews) {
    if (name == view.name) return &view;
  }
  return nullptr;
}

std::vector<std::string> command_of(const BenchOptions& options, const Installation& place) {
  std::vector<std::string> words = start_of_driver(options, place);
  words.insert(words.end(), options.cases.begin(), options.cases.end());
  auto add = [&words](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  add("--alloc", options.alloc);
  add("--offset", std::to_string(options.offset));
  add("--time-ms", std::to_string(options.time_ms));
  if (!options.sizes.empty()) add("--sizes", fmt::format("{}", fmt::join(options.sizes, ",")));
  add("--min-bytes", std::to_string(options.min_bytes));
  add("--max-bytes", std::to_string(options.max_bytes));
  if (options.window != 0) add("--window", std::to_string(options.window));
  return words;
}

/// The table on the terminal. A row is printed when all of its cases have arrived.
class LiveTable {
 public:
  LiveTable(const BenchOptions& options, const topo::Machine& machine)
      : options_(options), machine_(machine) {}

  void begin(const Json& header) {
    const auto processors = header.at("processors").get<std::vector<int>>();
    // With more ranks than cores, ranks are not bound, and their relation is unknown.
    const int ranks = header.at("ranks").get<int>();
    const bool bound = ranks <= machine_.core_count();
    const auto hosts = header.at("hosts").get<std::vector<std::string>>();
    const bool apart = hosts.at(0) != hosts.at(1);
    if (apart) {
      relation_ = topo::Relation::network;
    } else if (bound) {
      relation_ = relation_of_processors(machine_, processors.at(0), processors.at(1));
    }
    on_cores_ = bound && !apart;
    protocol_ = protocol_of_pair(relation_, static_cast<uint32_t>(ranks));
    fmt::print("{}\n", header.at("library").get<std::string>());
    const std::string where = apart ? fmt::format("on {} and {}", hosts[0], hosts[1])
                                    : fmt::format("on processors {} and {}", processors[0], processors[1]);
    fmt::print(
        "{} ranks {} ({}); {} buffers, offset {}; each message is rewritten before it is sent and every byte "
        "is checked\n\n",
        ranks, where, topo::relation_name(relation_), options_.alloc == "mpi" ? "MPI_Alloc_mem" : "malloc",
        options_.offset);
    std::string titles = fmt::format("{:>9}", "bytes"), units = fmt::format("{:>9}", "");
    for (const std::string& name : options_.cases) {
      titles += fmt::format("  {:>15}", find_view(name)->title);
      units += fmt::format("  {:>15}", find_view(name)->unit);
    }
    const bool has_bars = at_terminal_ && find_view(options_.cases.front())->plot_title == kTime;
    fmt::print("{}  {:<{}}{}\n{}\n", titles, "protocol", has_bars ? kProtocolWidth : 0,
               has_bars ? "time, logarithmic" : "", units);
  }

  /// Adds the protocol to each result.
  void add(Json& result) {
    const auto bytes = result.at("bytes").get<uint64_t>();
    if (cells_.empty()) row_ = fmt::format("{:>9}", bytes);
    const View* view = find_view(result.at("case").get<std::string>());
    const double value = view->value(result.at("median_ns").get<double>(), static_cast<double>(bytes),
                                     result.at("pairs").get<int>());
    const char* protocol = way_name(protocol_.choose(bytes), relation_);
    result["protocol"] = protocol;
    cells_.push_back(fmt::format("  {:>15}", value > 0 ? three_digits(value) : "-"));
    for (const char* when : {"floor_before_ns", "floor_after_ns"}) floors_.add(result.at(when).get<double>());
    if (cells_.size() == 1) bar_ = at_terminal_ && view->plot_title == kTime ? bar_of(value) : "";
    if (cells_.size() < options_.cases.size()) return;
    const std::string change = at_terminal_ && on_cores_ ? floors_.take_change() : "";
    fmt::print("{}{}  {:<{}}{}{}\n", row_, fmt::join(cells_, ""), protocol,
               bar_.empty() && change.empty() ? 0 : kProtocolWidth, bar_,
               change.empty() ? "" : fmt::format("  * now {}", change));
    std::fflush(stdout);
    cells_.clear();
  }

  void end() const { floors_.print(); }

  const char* relation() const { return topo::relation_name(relation_); }

 private:
  static constexpr int kProtocolWidth = 16;

  /// A time on a logarithmic axis from 10 ns to 10 ms, three characters for each power of ten.
  static std::string bar_of(double us) {
    const int length = std::clamp(static_cast<int>(std::lround(3 * std::log10(us / 0.01))), 0, 18);
    std::string bar;
    for (int i = 0; i < length; ++i) bar += "\u2500";
    return bar + "\u25cf";
  }

  const BenchOptions& options_;
  const topo::Machine& machine_;
  topo::Relation relation_ = topo::Relation::unknown;
  p2p::PairProtocol protocol_;
  std::string row_;
  std::vector<std::string> cells_;
  std::string bar_;        // of the first case
  bool on_cores_ = false;  // each rank on a core of its own, on one machine: the floors show the state
  bool at_terminal_ = os::is_terminal(1);
  Floors floors_;
};

std::string chart_of(const Json& document, const std::string& title) {
  std::vector<Panel> panels;
  for (const Json& result : document.at("results")) {
    const View* view = find_view(result.at("case").get<std::string>());
    auto panel = std::find_if(panels.begin(), panels.end(),
                              [view](const Panel& p) { return p.title == view->plot_title; });
    if (panel == panels.end()) panel = panels.insert(panels.end(), {view->plot_title, view->plot_unit, {}});
    auto series = std::find_if(panel->series.begin(), panel->series.end(),
                               [view](const Series& s) { return s.name == view->title; });
    if (series == panel->series.end()) series = panel->series.insert(panel->series.end(), {view->title, {}});
    const double bytes = result.at("bytes").get<double>();
    series->points.emplace_back(
        bytes, view->plot_value(result.at("median_ns").get<double>(), bytes, result.at("pairs").get<int>()));
  }
  return draw_chart(title, panels);
}

}  // namespace

std::vector<std::string> start_of_driver(const BenchOptions& options, const Installation& place) {
  if (launched_rank() >= 0) return {place.driver.string()};
  std::vector<std::string> words{place.launcher.string(), "-n", std::to_string(options.ranks)};
  if (!options.hosts.empty()) {
    const auto hosts = std::count(options.hosts.begin(), options.hosts.end(), ',') + 1;
    const int each = static_cast<int>((options.ranks + hosts - 1) / hosts);
    words.insert(words.end(), {"-hosts", options.hosts, "-ppn", std::to_string(each)});
  }
  words.push_back(place.driver.string());
  return words;
}

Status prepare_bench(const BenchOptions& options, Installation& place) {
  if (options.ranks < 2) return fail(MPI_ERR_ARG, "a benchmark needs 2 ranks or more, not %d", options.ranks);
  if (options.min_bytes > options.max_bytes) {
    return fail(MPI_ERR_ARG, "--min-bytes %llu is above --max-bytes %llu",
                static_cast<unsigned long long>(options.min_bytes),
                static_cast<unsigned long long>(options.max_bytes));
  }
  HEARTH_TRY(find_installation(place));
  for (const std::filesystem::path& needed : {place.launcher, place.driver}) {
    if (!std::filesystem::exists(needed)) {
      return fail(MPI_ERR_OTHER,
                  "'%s' is not there. Likely cause: this installation was moved in parts; remedy: `make`",
                  needed.c_str());
    }
  }
  return {};
}

Status run_bench(const BenchOptions& options) {
  for (const std::string& name : options.cases) {
    if (find_view(name) == nullptr) {
      return fail(MPI_ERR_ARG, "there is no case '%s'; `hearth bench --help` names them", name.c_str());
    }
  }
  Installation place;
  HEARTH_TRY(prepare_bench(options, place));
  const topo::Machine machine = topo::Machine::discover();
  use_profile(machine);
  const std::vector<std::string> command = command_of(options, place);
  if (launched_rank() > 0) return become(command);
  LiveTable table(options, machine);
  Json document;
  HEARTH_TRY(read_driver(
      command, [&table](const Json& header) { table.begin(header); },
      [&table](Json& result) { table.add(result); }, document));
  table.end();
  document["relation"] = table.relation();
  if (!options.json_file.empty()) HEARTH_TRY(write_file(options.json_file, document.dump(1) + '\n'));
  if (!options.plot_file.empty()) {
    const std::string title = fmt::format("Hearth, {} ranks, {}", options.ranks,
                                          options.alloc == "mpi" ? "MPI_Alloc_mem" : "malloc");
    HEARTH_TRY(write_file(options.plot_file, chart_of(document, title)));
  }
  return {};
}

}  // namespace hearth::tools
