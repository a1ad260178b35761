// Shares memory between the ranks of one machine if our own mpiexec has not created it: the segment and, if
// possible, the arena. The lowest rank creates both and passes their descriptors to the others over an
// abstract local socket, which leaves no file behind.
//
//   any other rank                            lowest rank
//   connects to the published socket name     accepts only processes of the same user
//   Hello: question, rank, processors   -->   compares the question before it reads anything else
//                                             waits for all ranks, then creates the memory
//                                       <--   Welcome: answer, with the descriptors
//   compares user and answer, attaches
//
// Question and answer are random numbers that only the job's launcher has carried. Called once, by the
// thread that initialises MPI.
#pragma once

#include <span>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/bootstrap_node.h"
#include "shm/arena.h"
#include "shm/segment.h"

namespace hearth::launch {

/// Creates or receives the memory of the ranks `locals`, which share a machine. `locals` ascends and contains
/// `self`; a rank's index in it is its local rank. `published` is the endpoint address of the lowest rank,
/// `listener` is this process's socket. Succeeds without an arena: `arena` then states why it is not usable.
Status share_segment(const NodeAddress& published, os::Descriptor listener, std::span<const int> locals,
                     int self, shm::Segment& segment, shm::Arena& arena);

}  // namespace hearth::launch
