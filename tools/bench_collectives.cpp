#include "bench_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "chart.h"
#include "collective_choice.h"
#include "driver_reader.h"
#include "floors.h"
#include "installation.h"
#include "launched.h"
#include "mpi.h"
#include "output_file.h"
#include "pretty.h"

namespace hearth::tools {
namespace {

using Json = nlohmann::ordered_json;
using coll::Collective;

/// A case of the driver. Without a table in algorithms.def there is only one algorithm.
struct Row {
  const char* name;
  std::optional<Collective> table;
};
const Row kRows[] = {
    {"barrier", Collective::barrier},
    {"bcast", Collective::bcast},
    {"gather", Collective::gather},
    {"gatherv", {}},
    {"scatter", Collective::scatter},
    {"scatterv", {}},
    {"allgather", Collective::allgather},
    {"allgatherv", {}},
    {"alltoall", Collective::alltoall},
    {"alltoallv", {}},
    {"reduce", Collective::reduce},
    {"allreduce", Collective::allreduce},
    {"reduce_scatter_block", Collective::reduce_scatter},
    {"scan", Collective::scan},
    {"exscan", Collective::scan},
};

const std::vector<uint64_t> kSizes = {8, 64, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304};

const Row* find_row(const std::string& name) {
  const Row* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&name](const Row& r) { return name == r.name; });
  return row == std::end(kRows) ? nullptr : row;
}

std::vector<std::string> command_of(const BenchOptions& options, const std::vector<std::string>& names,
                                    const Installation& place) {
  std::vector<uint64_t> sizes = options.sizes.empty() ? kSizes : options.sizes;
  std::erase_if(
      sizes, [&options](uint64_t bytes) { return bytes < options.min_bytes || bytes > options.max_bytes; });
  std::vector<std::string> words = start_of_driver(options, place);
  for (const std::string& name : names)
    words.push_back(name == "barrier" ? name : fmt::format("{}:{}", name, fmt::join(sizes, ",")));
  for (const auto& [option, value] : {std::pair<const char*, std::string>{"--alloc", options.alloc},
                                      {"--offset", std::to_string(options.offset)},
                                      {"--time-ms", std::to_string(options.time_ms)}}) {
    words.emplace_back(option);
    words.push_back(value);
  }
  return words;
}

/// The tables on the terminal, one per collective.
class CollectiveTables {
 public:
  void begin(const Json& header) {
    machines_ = header.at("machines").get<int>();
    ranks_ = header.at("ranks").get<int>();
    fmt::print(
        "{}\n{} ranks{}, {} buffers; the time of the slowest rank, roots in turn, everything rewritten "
        "before "
        "and checked after it\n",
        header.at("library").get<std::string>(), ranks_,
        machines_ > 1 ? fmt::format(" on {} machines", machines_) : "",
        header.at("alloc").get<std::string>() == "mpi" ? "MPI_Alloc_mem" : "malloc");
  }

  /// Adds the algorithm to each result.
  void add(Json& result) {
    const std::string name = result.at("case").get<std::string>();
    const Row& row = *find_row(name);
    const auto bytes = result.at("bytes").get<int64_t>();
    const std::string algorithm =
        row.table.has_value() ? algorithm_of(*row.table, ranks_, bytes, machines_) : "";
    if (!algorithm.empty()) result["algorithm"] = algorithm;
    if (name != shown_) {
      fmt::print("\n{}\n{:>9}  {:>10}  {:>12}  {:>13}{}\n", name, "bytes", "median us", "fast tenth us",
                 "slow 100th us", row.table.has_value() ? "  algorithm" : "");
      shown_ = name;
    }
    const auto time = [&result](const char* key) { return three_digits(result.at(key).get<double>() / 1e3); };
    fmt::print("{:>9}  {:>10}  {:>13}  {:>13}{}{}\n", bytes, time("median_ns"), time("p10_ns"),
               time("p99_ns"), algorithm.empty() ? "" : "  ", algorithm);
    std::fflush(stdout);
    for (const char* when : {"floor_before_ns", "floor_after_ns"}) floors_.add(result.at(when).get<double>());
  }

  void end() const { floors_.print(); }

 private:
  int ranks_ = 0;
  int machines_ = 1;
  std::string shown_;
  Floors floors_;
};

std::string collectives_chart(const Json& document, const std::string& title) {
  Panel panel{"Time of the slowest rank", "us", {}};
  for (const Json& result : document.at("results")) {
    const std::string name = result.at("case").get<std::string>();
    if (panel.series.empty() || panel.series.back().name != name) panel.series.push_back({name, {}});
    panel.series.back().points.emplace_back(result.at("bytes").get<double>(),
                                            result.at("median_ns").get<double>() / 1e3);
  }
  return draw_chart(title, {panel});
}

Status expand(const std::vector<std::string>& names, std::vector<std::string>& expanded) {
  for (const std::string& name : names) {
    if (name == "all") {
      expanded.insert(expanded.end(), collective_names().begin(), collective_names().end());
    } else if (find_row(name) != nullptr) {
      expanded.push_back(name);
    } else {
      return fail(MPI_ERR_ARG, "--collective knows no '%s'. Remedy: one of %s, or all", name.c_str(),
                  fmt::format("{}", fmt::join(collective_names(), ", ")).c_str());
    }
  }
  return {};
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Row& row : kRows) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

Status run_bench_collectives(const BenchOptions& options, const std::vector<std::string>& names) {
  std::vector<std::string> expanded;
  HEARTH_TRY(expand(names, expanded));
  Installation place;
  HEARTH_TRY(prepare_bench(options, place));
  const std::vector<std::string> command = command_of(options, expanded, place);
  if (launched_rank() > 0) return become(command);
  CollectiveTables tables;
  Json document;
  HEARTH_TRY(read_driver(
      command, [&tables](const Json& header) { tables.begin(header); },
      [&tables](Json& result) { tables.add(result); }, document));
  tables.end();
  if (!options.json_file.empty()) HEARTH_TRY(write_file(options.json_file, document.dump(1) + '\n'));
  if (!options.plot_file.empty()) {
    const std::string title = fmt::format("Hearth, collectives of {} ranks, {}", options.ranks,
                                          options.alloc == "mpi" ? "MPI_Alloc_mem" : "malloc");
    HEARTH_TRY(write_file(options.plot_file, collectives_chart(document, title)));
  }
  return {};
}

}  // namespace hearth::tools
