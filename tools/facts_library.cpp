#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/param.h"
#include "collective_choice.h"
#include "explain.h"
#include "facts.h"
#include "installation.h"
#include "pretty.h"
#include "route.h"
#include "shm/segment.h"
#include "tune/threshold.h"

namespace hearth::tools {
namespace {

// The design that scalable-intranode-2006 measured: a receive buffer for each ordered pair.
constexpr uint64_t kOriginalPairBytes = uint64_t{1} << 20;

constexpr bool kHasNetwork = !std::string_view(HEARTH_NETWORK).starts_with("none");

Json memory_row(uint32_t ranks) {
  const shm::SegmentPlan plan = shm::SegmentPlan::for_ranks(ranks);
  const uint64_t peers = ranks - 1;
  auto with_partners = [&plan, peers](uint64_t partners) {
    return plan.bytes_per_rank() + std::min(peers, partners) * plan.bytes_per_pair();
  };
  return {{"ranks", ranks},
          {"before_it_talks_bytes", with_partners(0)},
          {"each_partner_bytes", plan.bytes_per_pair()},
          {"with_6_partners_bytes", with_partners(6)},
          {"all_to_all_bytes", with_partners(peers)},
          {"each_communicator_bytes", plan.region_count > 0 ? plan.long_bytes() : 0},
          {"original_design_bytes", peers * kOriginalPairBytes},
          {"job_all_to_all_bytes", ranks * with_partners(peers)},
          {"job_original_design_bytes", ranks * peers * kOriginalPairBytes}};
}

std::vector<topo::Relation> relations_to_tell(const topo::Machine& machine) {
  std::vector<topo::Relation> relations = relations_of(machine);
  // The relation of ranks that are not bound, as in a job of more ranks than cores.
  if (relations.back() != topo::Relation::unknown) relations.push_back(topo::Relation::unknown);
  if (kHasNetwork) relations.push_back(topo::Relation::network);
  return relations;
}

}  // namespace

Json build_facts() {
  Installation place;
  const bool found = find_installation(place).ok();
  return {
      {"version", HEARTH_VERSION},
      {"standard", "MPI 5.0, standard ABI (libmpi_abi.so.1)"},
      {"compiler", HEARTH_COMPILER},
      {"flags", HEARTH_COMPILER_FLAGS},
      {"build_type", HEARTH_BUILD_TYPE},
      {"network", HEARTH_NETWORK},
      {"sanitizer", *HEARTH_SANITIZE == '\0' ? "none" : HEARTH_SANITIZE},
      {"installation", found ? place.root.string() : "unknown"},
      {"library", found && std::filesystem::exists(place.library) ? place.library.string() : "not found"}};
}

Json parameter_facts() {
  Json rows = Json::array();
  for (const param::Row& row : param::rows()) {
    rows.push_back({{"parameter", row.name},
                    {"value", row.value},
                    {"source", row.source},
                    {"default", row.standard},
                    {"kind", row.kind_name},
                    {"environment", row.environment},
                    {"meaning", row.text}});
  }
  return rows;
}

Json profile_facts(const tune::ProfileSearch& search, const topo::Machine& machine) {
  Json facts = {{"file", search.profile ? search.path : "none"}};
  if (search.profile) {
    facts["made"] = search.profile->made;
    facts["made_by"] = search.profile->made_by;
    facts["values"] = search.profile->values().size();
  } else {
    const std::string own = tune::own_profile_path();
    facts["remedy"] = own.empty() ? "hearth tune --output FILE measures this machine"
                                  : "hearth tune measures this machine and writes " + own;
  }
  const tune::MachineIdentity here = tune::MachineIdentity::of(machine);
  facts["processor"] = here.processor;
  facts["topology"] = here.topology;
  facts["kernel"] = here.kernel;
  facts["hypervisor"] = here.hypervisor;
  for (size_t i = 0; i < search.notes.size(); ++i) facts[fmt::format("note_{}", i + 1)] = search.notes[i];
  return facts;
}

Json threshold_facts(const topo::Machine& machine) {
  Json rows = Json::array();
  for (const tune::Threshold& threshold : tune::thresholds()) {
    for (const topo::Relation relation : relations_to_tell(machine)) {
      const uint64_t value = tune::value(threshold.parameter, relation);
      rows.push_back({{"threshold", threshold.name},
                      {"both_share", topo::relation_name(relation)},
                      {"value", value == tune::kNever ? Json("never") : Json(value)},
                      {"source", tune::source(threshold.parameter, relation)},
                      {"why", threshold.why}});
    }
  }
  for (const tune::Limit& limit : tune::limits()) {
    const uint64_t value = tune::limit(limit.parameter);
    rows.push_back({{"threshold", limit.name},
                    {"both_share", "any"},
                    {"value", value == tune::kNever ? Json("never") : Json(value)},
                    {"source", tune::limit_source(limit.parameter)},
                    {"why", limit.why}});
  }
  return rows;
}

Json memory_facts(uint32_t ranks) {
  const shm::SegmentPlan plan = shm::SegmentPlan::for_ranks(ranks != 0 ? ranks : 2);
  Json rows = Json::array();
  if (ranks != 0) {
    rows.push_back(memory_row(ranks));
  } else {
    for (const uint32_t some : {2u, 8u, 16u, 32u, 64u, 128u, 256u}) rows.push_back(memory_row(some));
  }
  return {
      {"a_rank_owns", fmt::format("{} bounce buffers of {} for sending, and its tables", plan.buffer_count,
                                  bytes_text(plan.buffer_bytes))},
      {"a_partner_adds", "a ring to receive from it, taken when it first sends"},
      {"a_communicator_adds",
       fmt::format("its pipeline buffers, as far as long collectives on it have used them; {} communicators "
                   "at a time have some",
                   plan.region_count)},
      {"formula", "P ranks, k partners each: before it talks + k * each partner"},
      {"original_design", "scalable-intranode-2006: 1 MiB for each ordered pair, P * (P - 1) MiB in all"},
      {"memory", rows}};
}

namespace {

/// Adds the rows of one relation and one kind of memory to two tables. `kind`: of the memory.
void add_explanation(topo::Relation relation, const char* kind, const std::vector<Explanation>& rows,
                     std::optional<uint64_t> bytes, Json& taken, Json& rejected) {
  const auto name = [relation](p2p::Protocol protocol) { return way_name(protocol, relation); };
  for (size_t i = 0; i < rows.size();) {
    // Between machines, consecutive rows may have the same name.
    size_t last = i;
    while (last + 1 < rows.size() && name(rows[last + 1].protocol) == name(rows[i].protocol)) ++last;
    const Explanation& row = rows[i];
    const uint64_t next = last + 1 == rows.size() ? tune::kNever : rows[last + 1].from_bytes;
    i = last + 1;
    if (bytes && (*bytes < row.from_bytes || *bytes >= next)) continue;
    const Json place = {{"both_share", topo::relation_name(relation)},
                        {"buffers", kind},
                        {"bytes", next == tune::kNever ? fmt::format("{} and more", row.from_bytes)
                                                       : fmt::format("{} to {}", row.from_bytes, next - 1)}};
    Json told = place;
    told["protocol"] = name(row.protocol);
    told["why"] = row.why;
    taken.push_back(std::move(told));
    const char* before = name(row.protocol);
    for (const Rejection& rejection : row.rejected) {
      const char* other = name(rejection.protocol);
      if (std::strcmp(other, before) == 0 || std::strcmp(other, name(row.protocol)) == 0) continue;
      before = other;
      told = place;
      told["not_taken"] = other;
      told["why_not"] = rejection.why;
      rejected.push_back(std::move(told));
    }
  }
}

}  // namespace

namespace {

/// The algorithms of collectives on MPI_COMM_WORLD, at the message's length or at all lengths.
Json collective_rows(uint32_t ranks, std::optional<uint64_t> bytes) {
  Json rows = Json::array();
  const std::vector<CollectiveChoice> choices = collective_choices(static_cast<int>(ranks));
  for (size_t i = 0; i < choices.size(); ++i) {
    const CollectiveChoice& choice = choices[i];
    const bool last = i + 1 == choices.size() || choices[i + 1].from_bytes <= choice.from_bytes;
    const auto from = static_cast<uint64_t>(choice.from_bytes);
    if (bytes && from != 0 &&
        (*bytes < from || (!last && *bytes >= static_cast<uint64_t>(choices[i + 1].from_bytes))))
      continue;
    rows.push_back({{"collective", choice.collective},
                    {"bytes_each", last ? fmt::format("{} and more", from)
                                        : fmt::format("{} to {}", from, choices[i + 1].from_bytes - 1)},
                    {"algorithm", choice.algorithm},
                    {"why", choice.why}});
  }
  return rows;
}

}  // namespace

Json explain_facts(const topo::Machine& machine, uint32_t ranks, std::optional<uint64_t> bytes,
                   const tune::ProfileSearch& search) {
  Json taken = Json::array();
  Json rejected = Json::array();
  const Circumstances circumstances = {single_copy_refusal(), arena_refusal(),
                                       search.profile ? &*search.profile : nullptr};
  for (const topo::Relation relation : relations_to_tell(machine)) {
    for (const bool in_arena : {false, true}) {
      // Machines share no memory.
      if (in_arena && relation == topo::Relation::network) continue;
      const char* kind = in_arena ? "arena" : relation == topo::Relation::network ? "any" : "ordinary";
      const std::vector<Explanation> rows =
          explain(relation, limits_of_pair(relation, ranks), in_arena, circumstances);
      add_explanation(relation, kind, rows, bytes, taken, rejected);
    }
  }
  Json facts = {{"ranks_of_the_job", ranks}, {"profile", search.profile ? search.path : "none"}};
  if (bytes) facts["message_bytes"] = *bytes;
  const Json missing = missing_facts(machine);
  facts["missing_here"] = missing.empty() ? "nothing" : fmt::format("{}, named last", missing.size());
  const NetworkFacts network = probe_network();
  facts["network"] =
      network.problem.empty()
          ? fmt::format("{}, {}; a machine that is silent for {} counts as lost (HEARTH_FABRIC_ALIVE)",
                        network.offer.chosen, network.offer.library, network.alive)
          : "none: " + network.problem;
  facts["rows"] = taken;
  facts["collectives"] = collective_rows(ranks, bytes);
  facts["rejected"] = rejected;
  facts["missing"] = missing;
  return facts;
}

}  // namespace hearth::tools
