// Whether MPI may be called now. One word of the process, read by every entry point; another tells of
// MPI_Init and MPI_Finalize, which are one way in, sessions the other.
#pragma once

#include <cstdint>

namespace hearth::abi {

enum class State : uint32_t {
  outside,      // before MPI_Init or MPI_Session_init
  active,       // until MPI_Finalize and until no session is left
  watched,      // the same, said to the entry points of a process whose calls are counted or traced
  finalized,    // after that
  forked_child  // in a process that a rank made by fork: it shares the rank's rings and must not touch them
};

/// What the entry points look at; never anything but these three words at once. Written by enter_state() and,
/// in a child made by fork, before fork returns there.
struct States {
  State plain = State::outside;    // never watched
  State traced = State::outside;   // watched where calls are traced
  State counted = State::outside;  // watched where they are counted, or traced
};
inline States states;

inline State state() {
  return states.plain;
}
/// Of MPI_Init and MPI_Finalize alone; never forked_child. Any thread may ask at any time (MPI_Initialized).
inline State world_state = State::outside;

/// Calls of MPI_T_init_thread that MPI_T_finalize has not undone: the tool interface has a life of its own.
/// Under the lock of any-time functions.
inline int tool_users = 0;

/// Called when the first user of MPI starts and when the last one ends.
void enter_state(State state);

}  // namespace hearth::abi
