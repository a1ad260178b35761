// Dead processes whose operations this process has ended, revoked communicators, and the error with which a
// message ends because of them. failure_handler.h ends the operations.
//
// Owned by the engine, under the library's lock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/peer_table.h"
#include "base/status.h"
#include "objects/comm.h"
#include "p2p/match.h"
#include "p2p/request.h"
#include "shm/liveness.h"

namespace hearth::p2p {

/// The communicator that a context belongs to; nullptr if this process has none (any more).
objects::Comm* comm_of(uint32_t context);

/// Whether a message belongs to a collective call of the whole communicator, not of some of its processes.
bool needs_all(const MatchKey& key);

/// Calls the function with each process of a communicator.
template <class Function>
void for_members(const objects::Comm& comm, const Function& function) {
  for (const PeerIndex process : comm.group->peers) function(process);
  if (!comm.is_inter()) return;
  for (const PeerIndex process : comm.remote_group->peers) function(process);
}

class FailureRecord {
 public:
  struct Revoked {
    uint32_t block;       // of contexts
    objects::Comm* comm;  // nullptr if it is freed or not created yet
  };

  /// `registry`: the dead processes of the job; nullptr if deaths are not detected.
  FailureRecord(const PeerRoom& room, const shm::Deaths* registry)
      : registry_(registry), home_size_(room.count), dead_(room) {}

  /// Whether a process has died or a communicator was revoked.
  bool any() const { return any_; }
  const shm::Deaths* registry() const { return registry_; }
  PeerIndex size() const { return static_cast<PeerIndex>(dead_.size()); }
  /// Processes of the own job.
  PeerIndex home_size() const { return home_size_; }

  // Deaths.
  /// Whether the registry has deaths that were not taken.
  bool has_news() const { return registry_ != nullptr && registry_->deaths() != deaths_; }
  /// How many deaths this process has taken, in the order in which they are numbered (shm/liveness.h).
  uint32_t deaths() const { return deaths_; }
  /// Takes the deaths of the registry: calls reap(process) for each process that has died since. The function
  /// calls note_death() once it has received what the process sent.
  template <class Reap>
  void take_deaths(const Reap& reap);
  void note_death(PeerIndex process) { dead_[static_cast<size_t>(process)] = true; }
  bool is_dead(PeerIndex process) const { return dead_[static_cast<size_t>(process)]; }
  /// Whether this process knows that one of these is dead.
  bool has_dead(std::span<const PeerIndex> processes) const;
  /// MPIX_ERR_PROC_FAILED with the text of the death if one of these is dead, otherwise ok.
  Status death_among(std::span<const PeerIndex> processes) const;
  /// An error of this class with the text of the process's death.
  [[gnu::cold]] Status death_of(PeerIndex process, int error_class) const;
  /// Marks a communicator with a dead member as failed; true if it was not.
  bool mark_broken(objects::Comm& comm) const;

  // Revoked communicators.
  /// The entry of the communicator that a context belongs to; nullptr if it was not revoked.
  const Revoked* revoked(uint32_t context) const;
  bool any_revoked() const { return !revoked_.empty(); }
  std::span<Revoked> all_revoked() { return revoked_; }
  /// Records a revocation. The reference is valid until the next one.
  Revoked& note_revoked(uint32_t context);
  /// Extends the revocation of a communicator to a further context, such as that of a partitioned operation
  /// (partitioned.cpp). `home`: any context of the communicator.
  void adopt(uint32_t context, uint32_t home);
  void disown(uint32_t context);
  /// The block of contexts of the communicator that a context belongs to.
  uint32_t home_of(uint32_t context) const;

  // What follows for messages. Ok: the message can still arrive.
  /// The outcome of collective calls on `comm`: an error once a member has died or the communicator was
  /// revoked.
  Status failure_of(const objects::Comm& comm) const;
  Status check_source(PeerIndex from, uint32_t context) const;
  /// A message to or from key.peer. Messages of a collective operation depend on all processes of the
  /// communicator: a process that has detected a death leaves the operation, so neither its messages nor
  /// messages to it are matched any more.
  Status check(const MatchKey& key) const;
  /// A send that belongs to a collective call, after the death of a member.
  Status check_collective(const MatchKey& key) const;
  /// Whether a receive from any source has to end, because a dead process might have served it.
  bool stalls(const MatchKey& key) const;
  /// The outcome of a request, with the text of the failure that ended it.
  [[gnu::cold]] Status reworded(const Request& request) const;

 private:
  const shm::Deaths* const registry_;
  const PeerIndex home_size_;
  uint32_t deaths_ = 0;
  bool any_ = false;
  PeerTable<bool> dead_;
  std::vector<Revoked> revoked_;
  struct Adopted {
    uint32_t block;
    uint32_t home;  // the block of the communicator
  };
  std::vector<Adopted> adopted_;
};

/// MPIX_ERR_REVOKED with its text.
Status revoked_status();
/// The block of context ids to which a context belongs.
uint32_t context_block(uint32_t context);

template <class Reap>
void FailureRecord::take_deaths(const Reap& reap) {
  deaths_ = registry_->deaths();
  any_ = true;
  for (PeerIndex process = 0; process < static_cast<PeerIndex>(dead_.size()); ++process) {
    const uint32_t death = is_dead(process) ? 0 : registry_->death_of(process);
    if (death != 0 && death <= deaths_) reap(process);
  }
}

}  // namespace hearth::p2p
