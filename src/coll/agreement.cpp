#include "coll/agreement.h"

#include <algorithm>
#include <utility>

#include "coll/agreement_messages.h"
#include "shm/node.h"

namespace hearth::coll {
namespace {

AgreementPart part_of(objects::Comm& comm, uint32_t number, uint32_t flags, bool makes,
                      bool own_group_first) {
  AgreementPart part{comm, number, flags, makes, comm.group->peers};
  if (!comm.is_inter()) return part;
  const objects::Peers& others = comm.remote_group->peers;
  part.members.insert(own_group_first ? part.members.end() : part.members.begin(), others.begin(),
                      others.end());
  return part;
}

}  // namespace

void Agreement::set_up() {
  set_up_agreements_by_messages();
}

Agreement::Agreement(objects::Comm& comm, uint32_t flags, bool makes, bool own_group_first)
    : comm_(comm), number_(++comm.agreements) {
  AgreementPart part = part_of(comm, number_, flags, makes, own_group_first);
  // Processes of other jobs are not in this segment.
  const PeerIndex home_size = p2p::engine().failures().home_size();
  const bool one_job = std::all_of(part.members.begin(), part.members.end(),
                                   [home_size](PeerIndex member) { return member < home_size; });
  const bool by_stores = one_job && !shm::node().is_one_of_several();
  way_ = by_stores ? agree_by_stores(std::move(part)) : agree_by_messages(std::move(part));
}

bool Agreement::advance() {
  if (comm_.agreements_over + 1 != number_ || !way_->advance(outcome_)) return false;
  comm_.agreements_over = number_;
  return true;
}

bool Agreement::is_lost(objects::PeerIndex process) const {
  return std::find(outcome_.lost.begin(), outcome_.lost.end(), process) != outcome_.lost.end();
}

void Agreement::run() {
  p2p::Engine& engine = p2p::engine();
  struct Watch final : p2p::Polled {
    Agreement* watched = nullptr;
    bool over = false;
    bool advance() override { return over = watched->advance(); }
  } watch;
  watch.watched = this;
  engine.requests().poll(watch);
  engine.wait_until([&watch] { return watch.over; }, [this](p2p::WaitDiagnostics& note) { describe(note); });
}

}  // namespace hearth::coll
