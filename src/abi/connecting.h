// Makes the intercommunicator of two groups that share no communicator (MPI 5.0 sections 11.7 to 11.10). The
// roots of the groups exchange packets over a local socket; the accepting root makes the bridge
// (abi/bridges.h):
//
//   connecting root                          accepting root
//   CallerHello, names of its group    -->   compares secret and user (abi/ports.h)
//                                      <--   Answer: number of the connection, names of all processes,
//                                            descriptor of the bridge
//   each root: broadcasts the answer in its group, passes the descriptor on; every process attaches; the
//   group agrees
//   outcome of the group              <-->   outcome of the group; both take the worse one
//
// If a process of either group uses the number already, the roots repeat the exchange with another one.
//
// Blocking and collective over the two groups. Under the library's lock, which waits release.
#pragma once

#include <functional>
#include <vector>

#include "abi/ports.h"
#include "base/os_io.h"
#include "base/status.h"
#include "objects/comm.h"

namespace hearth::abi {

/// Waits until done() returns true, with progress; `descriptors` lists sockets whose data may end the wait.
/// `timeout_ns`: 0 for none. Returns false after the timeout, and if a process of `comm` has died.
bool wait_for_sockets(const objects::Comm& comm, const std::function<void(std::vector<int>&)>& descriptors,
                      const std::function<bool()>& done, uint64_t timeout_ns = 0);

/// Receives that many bytes from a connected socket; false if it ends before. Waits like wait_for_sockets().
bool receive_all(const objects::Comm& comm, int socket, void* to, size_t bytes);

/// Significant at the root: connects to the other root.
using Meet = std::function<Status(Caller& caller)>;

/// The accepting side; and the connecting side, whose meet() sets `caller.socket` and the timeout only. All
/// processes of `comm` get the same outcome.
Status accept_group(objects::Comm& comm, int root, const Meet& meet, objects::Comm*& made);
Status connect_group(objects::Comm& comm, int root, const Meet& meet, objects::Comm*& made);

/// Broadcasts an error of the root, with its text, to all processes of the communicator.
Status broadcast_outcome(objects::Comm& comm, int root, Status status);

/// Fails unless all processes of the communicator can be connected to other jobs: an intracommunicator on one
/// machine.
Status check_connectable(const objects::Comm& comm);

/// Length of the rings that this process can use, for CallerHello.
uint32_t own_ring_lines();

}  // namespace hearth::abi
