// What `hearth info` tells, section by section. Each is a JSON value: an object of facts, an array of objects
// (a table), or an object of both; info.cpp shows the same value as text. Called in one thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "topo/machine.h"
#include "transport/network.h"
#include "tune/profile.h"

namespace hearth::tools {

// Keeps the order in which facts were added.
using Json = nlohmann::ordered_json;

// facts_library.cpp
Json build_facts();
/// Every parameter with its value and where that comes from.
Json parameter_facts();
/// The profile in force, or why there is none, and what a profile has to fit.
Json profile_facts(const tune::ProfileSearch& search, const topo::Machine& machine);
/// The thresholds that depend on what lies between two ranks, for the relations of this machine, and the
/// limits of collectives.
Json threshold_facts(const topo::Machine& machine);
/// Memory per rank for a job of so many ranks; for a choice of jobs when it is 0.
Json memory_facts(uint32_t ranks);
/// Protocol by what lies between two ranks and by length, with the reasons for it and against the others; of
/// one length, or of all.
Json explain_facts(const topo::Machine& machine, uint32_t ranks, std::optional<uint64_t> bytes,
                   const tune::ProfileSearch& search);

// facts_machine.cpp
Json machine_facts();
Json topology_facts(const topo::Machine& machine);
Json limit_facts();

// facts_memory.cpp
/// The memory nodes, and which parts of a rank lie on which of them.
Json memory_node_facts(const topo::Machine& machine);

// facts_probes.cpp
/// What the library builds on, found out by doing it.
Json probe_facts();
/// Why one rank cannot read another's memory; "" when it can.
std::string single_copy_refusal();
/// Why a job of two ranks gets no arena; "" when it does.
std::string arena_refusal();

// facts_network.cpp
struct NetworkFacts {
  transport::NetworkOffer offer;
  std::string problem;  // why there is no way to other machines; "" where there is one
  std::string alive;    // how long a machine may be silent
};
NetworkFacts look_at_network();
Json network_facts();

// facts_missing.cpp
/// What this machine, or this process's share of it, lacks of what the library can make use of, why, and what
/// happens instead; empty where nothing is missing.
Json missing_facts(const topo::Machine& machine);

}  // namespace hearth::tools
