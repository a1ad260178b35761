// Context ids separate the messages of different communicators: a message matches a receive only if both have
// the same id. Each communicator has a block of ids that is unique in the job; the segment counts the blocks
// (JobHeader::next_context).
#pragma once

#include <cstdint>

namespace hearth {

/// Ids per communicator.
constexpr uint32_t kContextsEach = 4;

// Offsets in the block from its first id, Comm::context, which point-to-point calls use.
constexpr uint32_t kCollectiveContext = 1;
/// For the leaders of MPI_Intercomm_create, which agree on a new communicator under the user's tag.
constexpr uint32_t kLeaderContext = 2;

/// Whether messages with this id belong to a collective call.
constexpr bool is_collective(uint32_t context) {
  return context % kContextsEach != 0;
}

// Blocks that exist from the start.
constexpr uint32_t kWorldContext = 0;
constexpr uint32_t kSelfContext = 4;
/// For communicators created without a parent (MPI_Comm_create_from_group).
constexpr uint32_t kInvitationContext = 8;
/// For agreements among processes on several machines (coll/agreement_messages.cpp).
constexpr uint32_t kAgreementContext = 12;
constexpr uint32_t kFirstFreeContext = 16;

/// Offers of partitioned messages (p2p/partitioned.h) use the context of their communicator with this bit
/// set, which allocated context ids never have.
constexpr uint32_t kOfferContext = uint32_t{1} << 31;

/// Communicators with processes of several jobs have ids of their own, from the connection that all of them
/// share: this bit, the number of the connection, and a count. Each member has given that number to one
/// connection only (abi/bridges.h).
constexpr uint32_t kJointContext = uint32_t{1} << 30;
constexpr int kJointCountBits = 20;
/// Connections that one process can have at a time.
constexpr uint32_t kConnectionsMax = uint32_t{1} << (30 - kJointCountBits);

constexpr bool is_joint(uint32_t context) {
  return (context & kJointContext) != 0;
}
constexpr uint32_t connection_of(uint32_t context) {
  return (context & (kJointContext - 1)) >> kJointCountBits;
}
/// The first id of a block of a connection; 0 if its ids are used up. `counted`: the ids that the connection
/// has counted before.
constexpr uint32_t joint_context_block(uint32_t connection, uint32_t counted) {
  if (counted >= uint32_t{1} << kJointCountBits) return 0;
  return kJointContext | connection << kJointCountBits | counted;
}

/// Ids below kJointContext that are never used, so that the counter does not wrap before a job that has
/// used up the others has ended.
constexpr uint32_t kSpareContexts = 1 << 20;

/// The first id of a new block; 0 if all ids are used up. Each machine counts its own blocks (`counted`: the
/// ids that it has counted before); the blocks of all machines are interleaved.
constexpr uint32_t new_context_block(uint32_t counted, uint32_t machines, uint32_t machine) {
  const uint64_t context =
      kFirstFreeContext + uint64_t{counted} * machines + uint64_t{machine} * kContextsEach;
  return context < uint64_t{kJointContext} - kSpareContexts ? static_cast<uint32_t>(context) : 0;
}

}  // namespace hearth
