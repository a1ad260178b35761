// Agreements among the processes of a communicator of which some may die meanwhile (MPIX_Comm_agree,
// MPIX_Comm_shrink): who lives comes to one outcome, the same for all.
//
// Each process says what it has to say in an entry of its own block in the segment, and nobody else writes
// there. The members are asked in the order of ranks: the first one that lives waits until every other one
// has said its part or is dead, decides, and stores the outcome in its own entry. All others wait for that
// outcome, or for its death; a dead one without an outcome is passed over, for the next in the order.
//
// Why all come to the same outcome: let d be the lowest rank that ever stores one. Whoever comes to an
// outcome of a higher rank has passed d, and so has seen d told dead, and no outcome in its entry after that.
// But a process that is told dead stores nothing more, and what it had stored is seen by who sees it told
// dead (shm/liveness.h): a contradiction. Lower ranks than d have been passed by d itself: they are dead and
// have stored none. Why it ends: each wait is for a process that lives and takes part, or its death is told.
//
// Agreements of a communicator have numbers. An entry may say something new once its last outcome is known to
// all who live: for the same communicator that is so when the next agreement is decided, since all have
// said their part in it by then; an entry that goes over to another communicator is looked after by passed().
#pragma once

#include <cstdint>
#include <span>

#include "objects/comm.h"
#include "p2p/engine.h"
#include "shm/segment.h"

namespace hearth::coll {

class Agreement : public p2p::Polled {
 public:
  struct Outcome {
    uint32_t flags = 0;         // the bits that all have set who took part
    uint32_t deaths = 0;        // the first so many count
    uint32_t acknowledged = 0;  // the first so many were known to all who took part
    objects::Allotment allotment;
  };

  /// The segment outlives all agreements.
  static void set_up(const shm::Segment& segment);

  /// Begins. `makes`: the outcome has an allotment for a communicator of those who live.
  Agreement(objects::Comm& comm, uint32_t flags, bool makes);

  /// True once there is an outcome.
  bool advance() override;
  const Outcome& outcome() const { return outcome_; }
  /// Goes through with it, while other messages go on.
  void run();
  /// Says who is waited for.
  void describe(p2p::WaitNote& note) const;
  /// The members that an outcome counts as dead.
  bool is_lost(objects::PeerIndex process) const;
  const objects::Peers& members() const { return members_; }

 protected:
  ~Agreement() = default;

 private:
  struct Place;

  bool take_place();
  bool passed(const Place& place) const;
  void contribute();
  bool gather();
  void decide(uint32_t flags, uint32_t acknowledged);
  bool read_outcome(objects::PeerIndex from);
  void end();
  void ring_all() const;

  objects::Comm& comm_;
  const uint32_t owner_;
  const uint32_t number_;
  const uint32_t flags_;
  const bool makes_;
  objects::Peers members_;  // of both groups of an intercommunicator
  Place* place_ = nullptr;
  size_t asked_ = 0;  // the member that is to decide
  Outcome outcome_;
};

/// In a blocking call.
class BlockingAgreement final : public Agreement {
 public:
  using Agreement::Agreement;
};

}  // namespace hearth::coll
