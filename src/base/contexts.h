// Context numbers keep messages apart that have nothing to do with each other. A message matches a receive
// only under the same number. Each communicator has a block of them, unique in the job; the segment counts
// the blocks up (JobHeader::next_context).
#pragma once

#include <cstdint>

namespace hearth {

/// Numbers of one communicator.
constexpr uint32_t kContextsEach = 4;

// What lies in the block, counted from its first number, Comm::context. Odd numbers are collective: the
// report about a job that hangs says so.
constexpr uint32_t kCollectiveContext = 1;
/// Processes agree here on a new communicator, where not all of this one take part: under the user's tag for
/// MPI_Comm_create_group, and its complement for MPI_Intercomm_create.
constexpr uint32_t kAgreementContext = 3;

// Blocks that exist from the start.
constexpr uint32_t kWorldContext = 0;
constexpr uint32_t kSelfContext = 4;
/// For communicators that are made from no other one (MPI_Comm_create_from_group).
constexpr uint32_t kInvitationContext = 8;
constexpr uint32_t kFirstFreeContext = 12;

}  // namespace hearth
