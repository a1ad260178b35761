// Whether MPI may be called now. Every entry point reads one word of the process. Another word covers
// MPI_Init and MPI_Finalize alone; sessions start MPI independently.
#pragma once

#include <cstdint>

namespace hearth::abi {

enum class State : uint32_t {
  outside,      // before MPI_Init or MPI_Session_init
  active,       // until MPI_Finalize and the end of the last session
  watched,      // the same, for entry points of a process whose calls are counted or traced
  finalized,    // after that
  forked_child  // in a process that a rank made by fork: it shares the rank's rings and must not touch them
};

/// The words that entry points read. Written by enter_state() and, in a child made by fork, before fork
/// returns there.
struct States {
  State plain = State::outside;    // never watched
  State traced = State::outside;   // watched if calls are traced
  State counted = State::outside;  // watched if calls are counted or traced
};
inline States states;

inline State state() {
  return states.plain;
}
/// Covers MPI_Init and MPI_Finalize alone; never forked_child. Any thread may read it at any time
/// (MPI_Initialized).
inline State world_state = State::outside;

/// Calls of MPI_T_init_thread without their MPI_T_finalize: the tool interface has its own lifetime. Under
/// the lock of any-time functions.
inline int tool_users = 0;

/// Called when the first user of MPI starts and when the last one ends.
void enter_state(State state);

}  // namespace hearth::abi
