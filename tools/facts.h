// What `hearth info` tells, section by section. Each is a JSON value: an object of facts, an array of objects
// (a table), or an object of both; info.cpp shows the same value as text. Called in one thread.
#pragma once

#include <nlohmann/json.hpp>

#include "topo/machine.h"
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
/// The thresholds that depend on what lies between two ranks, for the relations of this machine.
Json threshold_facts(const topo::Machine& machine);
/// Memory per rank for a job of so many ranks; for a choice of jobs when it is 0.
Json memory_facts(uint32_t ranks);
/// Protocol by what lies between two ranks and by length, with the reasons.
Json explain_facts(const topo::Machine& machine, uint32_t ranks);

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

}  // namespace hearth::tools
