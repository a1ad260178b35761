#include "launch/traffic_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "mpi.h"

namespace hearth::launch {
namespace {

using Json = nlohmann::json;

// Costs are 64-bit sums of bytes times distances; larger totals are scaled down.
constexpr double kBytesMax = 1e15;

Status bad_file(const std::string& name, const std::string& what) {
  return fail(
      MPI_ERR_ARG,
      "--place-by: '%s' %s. The form is {\"ranks\": 2, \"bytes\": [[0, 100], [50, 0]]}: a row for each "
      "sender, a column for each receiver",
      name.c_str(), what.c_str());
}

Status check_rows(const std::string& name, const Json& rows, size_t ranks) {
  if (!rows.is_array() || rows.size() != ranks)
    return bad_file(name, "needs one row in \"bytes\" for each of its " + std::to_string(ranks) + " ranks");
  for (size_t row = 0; row < ranks; ++row) {
    if (!rows[row].is_array() || rows[row].size() != ranks) {
      return bad_file(name, "needs " + std::to_string(ranks) + " numbers in row " + std::to_string(row));
    }
    for (const Json& value : rows[row]) {
      if (!value.is_number() || value.get<double>() < 0)
        return bad_file(name, "has something else than numbers from 0 on in row " + std::to_string(row));
    }
  }
  return {};
}

}  // namespace

Status read_traffic(const std::string& name, const std::string& text, int ranks,
                    std::vector<topo::Traffic>& traffic) {
  const Json file = Json::parse(text, nullptr, false);
  if (file.is_discarded() || !file.is_object()) return bad_file(name, "is no JSON object");
  if (!file.contains("ranks") || !file["ranks"].is_number_integer() || !file.contains("bytes"))
    return bad_file(name, "needs \"ranks\", a number, and \"bytes\"");
  const auto found = file["ranks"].get<int64_t>();
  if (found != ranks) {
    return fail(MPI_ERR_ARG,
                "--place-by: '%s' is about %lld ranks, this job has %d. Remedy: start as many, or take the "
                "profile of a run like this one",
                name.c_str(), static_cast<long long>(found), ranks);
  }
  const Json& rows = file["bytes"];
  const auto count = static_cast<size_t>(ranks);
  HEARTH_TRY(check_rows(name, rows, count));
  const auto both_ways = [&](size_t one, size_t other) {
    return rows[one][other].get<double>() + rows[other][one].get<double>();
  };
  double sum = 0;
  for (size_t one = 0; one < count; ++one) {
    for (size_t other = one + 1; other < count; ++other) sum += both_ways(one, other);
  }
  const double scale = std::max(1.0, sum / kBytesMax);
  traffic.clear();
  for (size_t one = 0; one < count; ++one) {
    for (size_t other = one + 1; other < count; ++other) {
      const auto bytes = static_cast<int64_t>(both_ways(one, other) / scale);
      if (bytes > 0) traffic.push_back({static_cast<int>(one), static_cast<int>(other), bytes});
    }
  }
  return {};
}

PlacementGain place_by(const topo::Machine& machine, const std::vector<topo::Traffic>& traffic,
                       std::vector<Binding>& bindings) {
  std::vector<shm::RankPlace> places;
  for (const Binding& binding : bindings) places.push_back(binding.place);
  const topo::Distances distances = topo::Distances::between(places, machine.memory_nodes());
  const std::vector<int> chosen = topo::arrange(traffic, distances, topo::kStepsOfALaunch);
  std::vector<int> before(bindings.size());
  for (size_t rank = 0; rank < bindings.size(); ++rank) before[rank] = static_cast<int>(rank);
  std::vector<Binding> result;
  for (const int binding : chosen) result.push_back(bindings[static_cast<size_t>(binding)]);
  bindings = std::move(result);
  return {topo::cost_of(before, traffic, distances), topo::cost_of(chosen, traffic, distances)};
}

}  // namespace hearth::launch
