// Context numbers keep messages apart that have nothing to do with each other. A message matches a receive
// only under the same number. Each communicator has a block of them, unique in the job; the segment counts
// the blocks up (JobHeader::next_context).
#pragma once

#include <cstdint>

namespace hearth {

/// Numbers of one communicator.
constexpr uint32_t kContextsEach = 4;

// What lies in the block, counted from its first number, Comm::context, which is that of point-to-point
// calls.
constexpr uint32_t kCollectiveContext = 1;
/// Where two leaders agree on a new communicator, under the user's tag (MPI_Intercomm_create).
constexpr uint32_t kLeaderContext = 2;

/// Whether a message in this context belongs to a collective call.
constexpr bool is_collective(uint32_t context) {
  return context % kContextsEach != 0;
}

// Blocks that exist from the start.
constexpr uint32_t kWorldContext = 0;
constexpr uint32_t kSelfContext = 4;
/// For communicators that are made from no other one (MPI_Comm_create_from_group).
constexpr uint32_t kInvitationContext = 8;
/// Of agreements among processes on several machines (coll/agreement_messages.cpp).
constexpr uint32_t kAgreementContext = 12;
constexpr uint32_t kFirstFreeContext = 16;

}  // namespace hearth
