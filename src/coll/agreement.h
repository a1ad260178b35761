// Fault-tolerant agreement among the processes of a communicator (MPIX_Comm_agree, MPIX_Comm_shrink): all
// surviving members obtain the same outcome, even if members fail during the agreement.
//
// Members on one machine agree through shared memory (agreement_stores.cpp), members on several machines by
// messages (agreement_messages.cpp); each file gives its proof. The agreements of a communicator are numbered
// and run one after another.
#pragma once

#include <cstdint>
#include <memory>

#include "objects/comm.h"
#include "p2p/engine.h"

namespace hearth::coll {

/// The outcome, equal on all surviving members.
struct AgreementOutcome {
  uint32_t flags = 0;         // bitwise AND of the flags of all participants
  objects::Peers lost;        // members that are treated as failed
  objects::Peers unexpected;  // failed members whose failure at least one participant had not acknowledged
  objects::ContextAllocation allocation;
};

/// The contribution of one member.
struct AgreementPart {
  objects::Comm& comm;
  uint32_t number;
  uint32_t flags;
  bool makes;              // allocate a context id and a region for a communicator of the survivors
  objects::Peers members;  // of both groups of an intercommunicator; in the same order on all processes
};

/// The protocol of an agreement.
class AgreementProtocol {
 public:
  virtual ~AgreementProtocol() = default;
  /// Advances the protocol; true once there is an outcome. Never blocks.
  virtual bool advance(AgreementOutcome& outcome) = 0;
  /// Adds the processes that it waits for to the wait diagnostics.
  virtual void describe(p2p::WaitDiagnostics& note) const = 0;
};
std::unique_ptr<AgreementProtocol> agree_by_stores(AgreementPart part);
std::unique_ptr<AgreementProtocol> agree_by_messages(AgreementPart part);

class Agreement : public p2p::Polled {
 public:
  /// Called once the process is attached to its job, before the first agreement: registers the messages of
  /// agreements between machines.
  static void set_up();

  /// Starts an agreement. `makes`: the outcome allocates a context id for a communicator of the survivors.
  /// `own_group_first`: of the two groups of an intercommunicator, the same order on all processes.
  Agreement(objects::Comm& comm, uint32_t flags, bool makes, bool own_group_first);

  /// True once there is an outcome.
  bool advance() override;
  const AgreementOutcome& outcome() const { return outcome_; }
  /// Blocks until there is an outcome; other messages progress meanwhile.
  void run();
  /// Adds the processes that it waits for to the wait diagnostics.
  void describe(p2p::WaitDiagnostics& note) const { way_->describe(note); }
  /// Whether the outcome treats a member as failed.
  bool is_lost(objects::PeerIndex process) const;

 protected:
  ~Agreement() = default;

 private:
  objects::Comm& comm_;
  const uint32_t number_;
  std::unique_ptr<AgreementProtocol> way_;
  AgreementOutcome outcome_;
};

/// For a blocking call.
class BlockingAgreement final : public Agreement {
 public:
  using Agreement::Agreement;
};

}  // namespace hearth::coll
