// Whether MPI may be called now. One word of the process, read by every entry point.
#pragma once

#include <cstdint>

namespace hearth::abi {

enum class State : uint32_t {
  outside,      // before MPI_Init
  active,       // between MPI_Init and MPI_Finalize
  finalized,    // after MPI_Finalize
  forked_child  // in a process that a rank made by fork: it shares the rank's rings and must not touch them
};

/// Written by enter_state() and, in a child made by fork, before fork returns there.
inline State current_state = State::outside;

inline State state() {
  return current_state;
}
/// Called by MPI_Init and MPI_Finalize.
void enter_state(State state);

}  // namespace hearth::abi
