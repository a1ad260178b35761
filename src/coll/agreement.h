// Agreements among the processes of a communicator of which some may die meanwhile (MPIX_Comm_agree,
// MPIX_Comm_shrink): who lives comes to one outcome, the same for all.
//
// On one machine the members come to it by stores into memory that they share (agreement_stores.cpp), on
// several by messages (agreement_messages.cpp); each file says why all come to the same one. Agreements of a
// communicator have numbers and come about one after the other.
#pragma once

#include <cstdint>
#include <memory>

#include "objects/comm.h"
#include "p2p/engine.h"
#include "shm/segment.h"

namespace hearth::coll {

/// What the members have come to.
struct AgreementOutcome {
  uint32_t flags = 0;         // the bits that all have set who took part
  objects::Peers lost;        // members that count as dead
  objects::Peers unexpected;  // those of them whose deaths not all who took part had acknowledged
  objects::Allotment allotment;
};

/// What one member brings along.
struct AgreementPart {
  objects::Comm& comm;
  uint32_t number;
  uint32_t flags;
  bool makes;              // the outcome has an allotment for a communicator of those who live
  objects::Peers members;  // of both groups of an intercommunicator, in the same order everywhere
};

/// How it comes about.
class AgreementWay {
 public:
  virtual ~AgreementWay() = default;
  /// True once there is an outcome. Never blocks.
  virtual bool advance(AgreementOutcome& outcome) = 0;
  /// Says who is waited for.
  virtual void describe(p2p::WaitNote& note) const = 0;
};
std::unique_ptr<AgreementWay> agree_by_stores(AgreementPart part);
std::unique_ptr<AgreementWay> agree_by_messages(AgreementPart part);

class Agreement : public p2p::Polled {
 public:
  /// The segment outlives all agreements. `apart`: processes are on several machines, or as if.
  static void set_up(const shm::Segment& segment, bool apart);

  /// Begins. `makes`: the outcome has an allotment for a communicator of those who live.
  Agreement(objects::Comm& comm, uint32_t flags, bool makes);

  /// True once there is an outcome.
  bool advance() override;
  const AgreementOutcome& outcome() const { return outcome_; }
  /// Goes through with it, while other messages go on.
  void run();
  /// Says who is waited for.
  void describe(p2p::WaitNote& note) const { way_->describe(note); }
  /// Whether the outcome counts a member as dead.
  bool is_lost(objects::PeerIndex process) const;

 protected:
  ~Agreement() = default;

 private:
  objects::Comm& comm_;
  const uint32_t number_;
  std::unique_ptr<AgreementWay> way_;
  AgreementOutcome outcome_;
};

/// In a blocking call.
class BlockingAgreement final : public Agreement {
 public:
  using Agreement::Agreement;
};

}  // namespace hearth::coll
