#include "p2p/failure_record.h"

#include <algorithm>

#include "base/contexts.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::p2p {
namespace {

bool awaits_acknowledgement(const objects::Comm* comm) {
  return comm != nullptr && comm->last_death > comm->deaths_acknowledged;
}

}  // namespace

objects::Comm* comm_of(uint32_t context) {
  const Pool<objects::Comm>& comms = objects::pools.comms;
  for (size_t slot = 0; slot < comms.slots_used(); ++slot) {
    objects::Comm* comm = comms.at(slot);
    if (comm != nullptr && comm->group != nullptr && comm->context == context / kContextsEach * kContextsEach)
      return comm;
  }
  return nullptr;
}

bool needs_all(const MatchKey& key) {
  return key.context % kContextsEach == kCollectiveContext && key.tag < MPI_ANY_TAG;
}

uint32_t context_block(uint32_t context) {
  return (context & ~kOfferContext) / kContextsEach;
}

Status revoked_status() {
  return fail(
      MPIX_ERR_REVOKED,
      "the communicator was revoked: by MPIX_Comm_revoke, or because one of its processes had no memory for "
      "a collective call. Remedy: go on with what MPIX_Comm_shrink makes of it");
}

// Queries.

bool FailureRecord::has_dead(std::span<const PeerIndex> processes) const {
  return std::any_of(processes.begin(), processes.end(),
                     [this](PeerIndex process) { return is_dead(process); });
}

Status FailureRecord::death_among(std::span<const PeerIndex> processes) const {
  for (const PeerIndex process : processes) {
    if (is_dead(process)) return death_of(process, MPIX_ERR_PROC_FAILED);
  }
  return {};
}

Status FailureRecord::death_of(PeerIndex process, int error_class) const {
  char text[160];
  registry_->describe(process, text, sizeof text);
  return fail(error_class, "%s", text);
}

Status FailureRecord::failure_of(const objects::Comm& comm) const {
  if (__builtin_expect(comm.failure == 0, 1)) return {};
  if (comm.failure == MPIX_ERR_REVOKED) return revoked_status();
  PeerIndex dead = MPI_PROC_NULL;
  for_members(comm, [&](PeerIndex process) {
    if (dead == MPI_PROC_NULL && is_dead(process)) dead = process;
  });
  return death_of(dead, MPIX_ERR_PROC_FAILED);
}

Status FailureRecord::check_source(PeerIndex from, uint32_t context) const {
  if (__builtin_expect(!any_, 1)) return {};
  if (revoked(context) != nullptr) return revoked_status();
  if (from >= 0) return is_dead(from) ? death_of(from, MPIX_ERR_PROC_FAILED) : Status();
  const objects::Comm* comm = comm_of(context);
  if (!awaits_acknowledgement(comm)) return {};
  PeerIndex dead = MPI_PROC_NULL;
  for_members(*comm, [&](PeerIndex process) {
    if (is_dead(process) && registry_->death_of(process) == comm->last_death) dead = process;
  });
  return death_of(dead, MPIX_ERR_PROC_FAILED);
}

Status FailureRecord::check(const MatchKey& key) const {
  if (revoked(key.context) != nullptr) return revoked_status();
  if (key.peer >= 0 && is_dead(key.peer)) return death_of(key.peer, MPIX_ERR_PROC_FAILED);
  return check_collective(key);
}

Status FailureRecord::check_collective(const MatchKey& key) const {
  if (!needs_all(key)) return {};
  const objects::Comm* comm = comm_of(key.context);
  return comm == nullptr ? Status() : failure_of(*comm);
}

bool FailureRecord::stalls(const MatchKey& key) const {
  return key.peer == MPI_ANY_SOURCE && !is_collective(key.context) &&
         awaits_acknowledgement(comm_of(key.context));
}

Status FailureRecord::reworded(const Request& request) const {
  const int error_class = request.outcome.error_class();
  if (error_class == MPIX_ERR_REVOKED) return revoked_status();
  if (error_class == MPIX_ERR_PROC_FAILED_PENDING) {
    const Status why = check_source(MPI_ANY_SOURCE, request.key.context);
    const char* words = why.ok() ? "a process that might have sent it has died" : last_failure_text();
    return fail(
        error_class,
        "%s; the receive, which takes messages from any source, goes on. Remedy: MPIX_Comm_ack_failed, then "
        "wait again; or cancel it",
        words);
  }
  if (error_class != MPIX_ERR_PROC_FAILED) return request.outcome;
  const PeerIndex peer = request.kind == RequestKind::receive ? request.from : request.key.peer;
  if (peer >= 0 && is_dead(peer)) return death_of(peer, error_class);
  const objects::Comm* comm = comm_of(request.key.context);
  return comm != nullptr && comm->failure == error_class ? failure_of(*comm) : request.outcome;
}

// Deaths.

bool FailureRecord::mark_broken(objects::Comm& comm) const {
  for_members(comm, [&](PeerIndex process) {
    if (is_dead(process)) comm.last_death = std::max(comm.last_death, registry_->death_of(process));
  });
  if (comm.last_death == 0 || comm.failure != 0) return false;
  comm.failure = MPIX_ERR_PROC_FAILED;
  return true;
}

// Revocation.

void FailureRecord::adopt(uint32_t context, uint32_t home) {
  adopted_.push_back({context_block(context), context_block(home)});
}

// The entry stays while the communicator is revoked, because messages may still arrive.
void FailureRecord::disown(uint32_t context) {
  if (revoked(context) != nullptr) return;
  std::erase_if(adopted_, [context](const Adopted& one) { return one.block == context_block(context); });
}

/// The block of the communicator that a context belongs to.
uint32_t FailureRecord::home_of(uint32_t context) const {
  const uint32_t block = context_block(context);
  const auto found = std::find_if(adopted_.begin(), adopted_.end(),
                                  [block](const Adopted& one) { return one.block == block; });
  return found == adopted_.end() ? block : found->home;
}

const FailureRecord::Revoked* FailureRecord::revoked(uint32_t context) const {
  if (revoked_.empty()) return nullptr;
  const uint32_t block = home_of(context);
  const auto found = std::find_if(revoked_.begin(), revoked_.end(),
                                  [block](const Revoked& entry) { return entry.block == block; });
  return found == revoked_.end() ? nullptr : &*found;
}

FailureRecord::Revoked& FailureRecord::note_revoked(uint32_t context) {
  const uint32_t block = context_block(context);
  revoked_.push_back({block, comm_of(block * kContextsEach)});
  any_ = true;
  return revoked_.back();
}

}  // namespace hearth::p2p
