// The library's state in this process.
//
// MPI has users: the application from MPI_Init to MPI_Finalize, and each session. The first user attaches the
// process to its job. Without users, MPI is inactive and the job counts this rank as finalized, but the
// process stays attached, so that a later session finds its peers.
#pragma once

#include <pthread.h>

#include <memory>
#include <optional>

#include "abi/bridges.h"
#include "abi/children.h"
#include "abi/joint_deaths.h"
#include "abi/liveness_monitor.h"
#include "abi/lost_processes.h"
#include "abi/memory.h"
#include "base/status.h"
#include "coll/region_pool.h"
#include "launch/bootstrap.h"
#include "objects/comm.h"
#include "p2p/buffered.h"
#include "p2p/engine.h"
#include "profile/recorder.h"
#include "shm/node.h"
#include "topo/measured_times.h"
#include "transport/islands.h"
#include "transport/network.h"

namespace hearth::abi {

struct Runtime {
  launch::Bootstrap job;
  std::optional<shm::Node> node;
  std::optional<coll::RegionPool> regions;
  profile::Board board;
  std::unique_ptr<profile::Recorder> recorder;      // if a profile or a trace was requested
  std::unique_ptr<transport::Islands> islands;      // the engine's transport
  transport::Network* network = nullptr;            // the transport's, if ranks are on other machines
  std::optional<LostProcesses> lost;                // if ranks are on other machines
  std::optional<LivenessMonitor> liveness_monitor;  // if another library's launcher started the job
  std::optional<JointDeaths> deaths;                // of the own job and of connected ones
  std::unique_ptr<p2p::Engine> engine;
  Bridges bridges;              // to processes of other jobs
  Children children;            // jobs that this process has started
  p2p::SendBuffer send_buffer;  // of MPI_Buffer_attach
  topo::MeasuredTimes measured_times;
  MemoryFromMpi memory;
  int users = 0;
  int level_in_force = 0;  // MPI_THREAD_*: requested by the first of the present users
  int thread_level = 0;    // provided by MPI_Init_thread
  pthread_t main_thread = {};
};

/// Whether MPI has had a user.
bool is_attached();
/// Valid from the first user's start to the end of the process.
Runtime& runtime();
/// The machine of a process. Processes of other jobs are on this one.
inline int node_of(p2p::PeerIndex peer) {
  const launch::Bootstrap& job = runtime().job;
  return job.node_of[static_cast<size_t>(peer < job.size ? peer : job.rank)];
}
/// Stores in a communicator's group which of its processes share a machine.
void note_machines(objects::Group& group);
/// Whether these processes can share memory: they are of one job and on one machine.
bool on_one_machine(const std::vector<p2p::PeerIndex>& peers);
/// The binding of a process of this machine; unknown for processes of other machines.
const shm::RankPlace& bound_place_of(p2p::PeerIndex peer);

/// Prints a line on standard error, with the rank in MPI_COMM_WORLD.
void warn(const char* text);

/// Detects ended processes that the launcher does not report. For calls that wait long.
void check_processes();

/// Adds a user. `level` is one of MPI_THREAD_*: the requested level, replaced by the provided one. The
/// provided level is lower only if a present user requested less.
Status add_user(int& level);
/// Removes a user; the last one waits until all its messages have been sent.
void remove_user();

/// MPI_Init and MPI_Init_thread, MPI_Finalize.
Status start_world(int& level);
Status end_world();

/// Called when an error handler is set. Publishes for the launcher whether some calls return errors, which
/// decides what happens to the job when a rank dies.
void note_errhandler(const objects::Errhandler& handler);

/// Ends the whole job with this exit code and message; does not return. Callable in any state.
[[noreturn]] void end_job(int code, const char* text);

}  // namespace hearth::abi
