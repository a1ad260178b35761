// The sections of `hearth info`. Each is a JSON value: an object of facts, an array of objects (a table), or
// an object of both; info.cpp prints the same value as text. Called in one thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/status.h"
#include "topo/machine.h"
#include "transport/fabric.h"
#include "tune/profile.h"

namespace hearth::tools {

// Keeps the order of insertion.
using Json = nlohmann::ordered_json;

// facts_library.cpp
Json build_facts();
/// Every parameter with its value and its source.
Json parameter_facts();
/// The profile in use, or why there is none, and the conditions that a profile must match.
Json profile_facts(const tune::ProfileSearch& search, const topo::Machine& machine);
/// The thresholds that depend on the relation of two ranks, for the relations of this machine, and the limits
/// of collectives.
Json threshold_facts(const topo::Machine& machine);
/// Memory per rank for a job of this number of ranks; for several job sizes if it is 0.
Json memory_facts(uint32_t ranks);
/// Protocol by relation and length, with the reasons for it and against the others; for one length or for
/// all.
Json explain_facts(const topo::Machine& machine, uint32_t ranks, std::optional<uint64_t> bytes,
                   const tune::ProfileSearch& search);

// facts_machine.cpp
Json machine_facts();
Json topology_facts(const topo::Machine& machine);
Json limit_facts();

// facts_memory.cpp
/// The memory nodes, and the placement of a rank's memory on them.
Json memory_node_facts(const topo::Machine& machine);

// facts_probes.cpp
/// Probes of the system features that the library uses.
Json probe_facts();
/// Why one rank cannot read another's memory; "" if it can.
std::string single_copy_refusal();
/// Why a job of two ranks gets no arena; "" if it gets one.
std::string arena_refusal();

// facts_network.cpp
struct NetworkFacts {
  transport::NetworkOffer offer;
  std::string problem;  // why other machines cannot be reached; "" if they can
  std::string alive;    // how long a machine may be silent
};
NetworkFacts probe_network();
Json network_facts();

// facts_program.cpp
/// For which MPI library a program was built, and which it gets from mpiexec. Fails if there is no such
/// program.
Status program_facts(const std::string& name, Json& facts);

// facts_missing.cpp
/// Features that the library can use and that this machine, or this process's part of it, lacks: the cause
/// and the fallback. Empty if nothing is missing.
Json missing_facts(const topo::Machine& machine);

}  // namespace hearth::tools
