// The library's state in this process. Everything else hangs off it.
//
// MPI has users: the program itself from MPI_Init to MPI_Finalize, and each session. The first one attaches
// the process to its job. While there is none, MPI is not active and the job counts this rank as finalized;
// but the process stays attached, so that the next user (a session) finds its peers again.
#pragma once

#include <pthread.h>

#include <memory>
#include <optional>

#include "abi/lost_processes.h"
#include "abi/memory.h"
#include "abi/neighbours.h"
#include "base/status.h"
#include "launch/bootstrap.h"
#include "objects/comm.h"
#include "p2p/buffered.h"
#include "p2p/engine.h"
#include "profile/recorder.h"
#include "shm/liveness.h"
#include "topo/measured_times.h"
#include "transport/network.h"

namespace hearth::abi {

struct Runtime {
  launch::Bootstrap job;
  bool several_machines = false;  // or as if (pretended_machines.h)
  profile::Board board;
  std::unique_ptr<profile::Recorder> recorder;  // where somebody asked for a profile or a trace
  std::unique_ptr<transport::Transport> transport;
  transport::Network* network = nullptr;  // the transport's; where ranks are on other machines
  std::optional<shm::Liveness> liveness;
  std::optional<LostProcesses> lost;     // where ranks are on other machines
  std::optional<Neighbours> neighbours;  // where the launcher is another library's
  std::unique_ptr<p2p::Engine> engine;
  p2p::SendBuffer send_buffer;  // of MPI_Buffer_attach
  topo::MeasuredTimes measured_times;
  MemoryFromMpi memory;
  int users = 0;
  int level_in_force = 0;  // MPI_THREAD_*: what the first of the present users asked for
  int thread_level = 0;    // what MPI_Init_thread was given
  pthread_t main_thread = {};
};

/// Whether there has been a user.
bool is_attached();
/// Valid from the first user's start to the process's end.
Runtime& runtime();
/// The machine of a process, by its number in the job.
inline int node_of(p2p::PeerIndex peer) {
  return runtime().job.node_of[static_cast<size_t>(peer)];
}
/// Its place in the segment of this machine; -1 where it is on another one.
inline int place_of(p2p::PeerIndex peer) {
  const launch::Bootstrap& job = runtime().job;
  return job.place_of.empty() ? static_cast<int>(peer) : job.place_of[static_cast<size_t>(peer)];
}
/// Enters in a communicator's group which of its processes share a machine.
void note_machines(objects::Group& group);
/// Whether these processes can share memory.
bool on_one_machine(const std::vector<p2p::PeerIndex>& peers);
/// Where the launcher has bound a process of this machine; nothing is known of others.
const shm::RankPlace& bound_place_of(p2p::PeerIndex peer);

/// A user comes. `level` is one of MPI_THREAD_*: what it asks for, then what it gets, which is less only when
/// users that are there already asked for less.
Status add_user(int& level);
/// A user goes; the last one waits until all that it sent is on its way.
void remove_user();

/// MPI_Init and MPI_Init_thread, MPI_Finalize.
Status start_world(int& level);
Status end_world();

/// The program has said what becomes of errors: the launcher wants to know whether some of its calls return
/// them, when a rank has died.
void note_errhandler(const objects::Errhandler& handler);

/// Ends the whole job with this exit code and these words; does not return. Usable in any state.
[[noreturn]] void end_job(int code, const char* text);

}  // namespace hearth::abi
