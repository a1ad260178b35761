// The library's state in this process: from MPI_Init to MPI_Finalize. Everything else hangs off it.
#pragma once

#include <pthread.h>

#include <memory>

#include "base/status.h"
#include "launch/bootstrap.h"
#include "objects/comm.h"
#include "p2p/buffered.h"
#include "p2p/engine.h"
#include "transport/shm_transport.h"

namespace hearth::abi {

struct Runtime {
  launch::Bootstrap job;
  std::unique_ptr<transport::ShmTransport> transport;
  std::unique_ptr<p2p::Engine> engine;
  p2p::SendBuffer send_buffer;  // of MPI_Buffer_attach
  int thread_level = 0;
  pthread_t main_thread = {};
};

/// Valid between MPI_Init and the process's end.
Runtime& runtime();

/// MPI_Init and MPI_Init_thread. `required` is one of MPI_THREAD_*.
Status start_up(int required);
/// MPI_Finalize.
Status shut_down();

/// Ends the whole job with this exit code and these words; does not return. Usable in any state.
[[noreturn]] void end_job(int code, const char* text);

}  // namespace hearth::abi
