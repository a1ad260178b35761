#include "info.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts.h"
#include "pretty.h"
#include "route.h"

namespace hearth::tools {
namespace {

constexpr uint32_t kRanksForExplain = 2;

constexpr std::string_view kBytes = "_bytes";

/// The key as readers see it; its unit moves to the value.
std::string title_of(std::string key) {
  if (key.ends_with(kBytes)) key.erase(key.size() - kBytes.size());
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string text_of(const std::string& key, const Json& value) {
  if (value.is_number_unsigned() && key.ends_with(kBytes)) return bytes_text(value.get<uint64_t>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string table_text(const Json& rows, int indent) {
  if (rows.empty()) return "";
  std::vector<std::string> titles;
  for (const auto& column : rows.at(0).items()) titles.push_back(title_of(column.key()));
  TextTable table(titles);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const auto& column : row.items()) cells.push_back(text_of(column.key(), column.value()));
    table.add(std::move(cells));
  }
  return table.text(indent);
}

/// An object's facts, one per line, followed by its tables.
std::string section_text(const Json& section) {
  if (section.is_array()) return table_text(section, 2);
  size_t width = 0;
  for (const auto& fact : section.items()) {
    if (!fact.value().is_array()) width = std::max(width, title_of(fact.key()).size());
  }
  std::string facts, tables;
  for (const auto& fact : section.items()) {
    if (fact.value().is_array()) {
      tables += (tables.empty() ? "" : "\n") + table_text(fact.value(), 2);
    } else {
      facts += fmt::format("  {:<{}}  {}\n", title_of(fact.key()), width, text_of(fact.key(), fact.value()));
    }
  }
  return facts + (tables.empty() ? "" : "\n" + tables);
}

Json collect(const InfoOptions& options) {
  const topo::Machine machine = topo::Machine::discover();
  const tune::ProfileSearch search = use_profile(machine);
  const uint32_t explained = options.ranks != 0 ? options.ranks : kRanksForExplain;
  Json document;
  const bool all = !options.memory && !options.explain;
  if (all) {
    document["build"] = build_facts();
    document["machine"] = machine_facts();
    document["topology"] = topology_facts(machine);
    document["memory_nodes"] = memory_node_facts(machine);
    document["limits"] = limit_facts();
    document["probes"] = probe_facts();
    document["network"] = network_facts();
    document["parameters"] = parameter_facts();
    document["profile"] = profile_facts(search, machine);
    document["thresholds"] = threshold_facts(machine);
  }
  if (all || options.memory) document["memory_per_rank"] = memory_facts(options.ranks);
  if (options.explain) document["protocols"] = explain_facts(machine, explained, options.bytes, search);
  return document;
}

}  // namespace

Status run_info(const InfoOptions& options) {
  Json document;
  if (options.program.empty()) {
    document = collect(options);
  } else {
    HEARTH_TRY(program_facts(options.program, document["program"]));
  }
  if (options.json) {
    fmt::print("{}\n", document.dump(1));
    return {};
  }
  bool first = true;
  for (const auto& section : document.items()) {
    fmt::print("{}{}\n{}", first ? "" : "\n", title_of(section.key()), section_text(section.value()));
    first = false;
  }
  return {};
}

}  // namespace hearth::tools
