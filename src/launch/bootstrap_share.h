// How the ranks of one machine come to share memory when no launcher of ours has made it: the segment, and
// the arena where there can be one. The lowest of them makes both and hands the descriptors to the others
// over a socket that is no file.
//
//   any other rank                            lowest rank
//   connect to the name on its card           accepts only processes of the same user
//   Hello: question, rank, processors   -->   compares the question before it looks at anything else
//                                             waits until all are there, makes the memory
//                                       <--   Welcome: answer, with the descriptors
//   compares user and answer, attaches
//
// Question and answer are random numbers that only the job's launcher has carried. Called once when the
// library starts, by the thread that starts it.
#pragma once

#include <span>

#include "base/os_io.h"
#include "base/status.h"
#include "launch/bootstrap_node.h"
#include "shm/arena.h"
#include "shm/segment.h"

namespace hearth::launch {

/// Makes or fetches the memory of the ranks `locals`, rising, which share a machine and of which `self` is
/// one; a rank's place in `locals` is its number there. `card` is that of the lowest rank, `listener` belongs
/// to this process. Without an arena it works too: that one then says why it is not usable.
Status share_segment(const NodeCard& card, os::Descriptor listener, std::span<const int> locals, int self,
                     shm::Segment& segment, shm::Arena& arena);

}  // namespace hearth::launch
