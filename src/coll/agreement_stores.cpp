// Agreement on one machine, through shared memory.
//
// Each process publishes its contribution in an entry of its own block in the segment; only the owner writes
// the entry. The members are queried in rank order. The first live member waits until every other member has
// contributed or died, decides, and publishes the outcome in its own entry. All other members wait for that
// outcome or for the death of that member. If it died without an outcome, they query the next member.
//
// All members obtain the same outcome: let d be the lowest rank that ever publishes an outcome. A process
// that takes the outcome of a higher rank has skipped d, so it has seen d reported dead and, after that, no
// outcome in d's entry. But a process that is reported dead stores nothing more, and all its stores are
// visible to a process that sees it reported dead (shm/liveness.h): a contradiction. Ranks below d have been
// skipped by d itself: they are dead and have published no outcome.
//
// The protocol terminates: each wait is for a live process that participates, or the death of that process is
// reported.
//
// The agreements of a communicator are numbered. An entry may be overwritten once its last outcome is known
// to all live members. For the same communicator this holds when the next agreement is decided, because all
// members have contributed to it by then. Before an entry is reused for another communicator, passed() checks
// it.

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/contexts.h"
#include "coll/agreement.h"
#include "coll/collective_region.h"
#include "p2p/wait_diagnostics.h"
#include "shm/corruption.h"
#include "shm/node.h"
#include "shm/wait.h"

namespace hearth::coll {

using objects::PeerIndex;
using shm::AgreementEntry;

namespace {

/// An entry of this process, and the members of the communicator that used it last.
struct Place {
  AgreementEntry* entry = nullptr;
  objects::Peers members;
  bool in_use = false;
};

bool is_published_dead(PeerIndex process, uint32_t deaths) {
  const uint32_t death = shm::node().liveness().death_of(process);
  return death != 0 && death <= deaths;
}

/// Of the deaths that this process has acknowledged, those in the segment.
uint32_t acknowledged_here(const objects::Comm& comm) {
  const shm::Deaths* deaths = p2p::engine().failures().registry();
  return deaths == nullptr ? comm.deaths_acknowledged : deaths->in_segment(comm.deaths_acknowledged);
}

uint32_t deaths_published() {
  return shm::node().liveness().deaths();
}

/// The entry that another process uses for this owner; nullptr if it has none.
const AgreementEntry* entry_of(PeerIndex process, uint32_t owner) {
  for (const AgreementEntry& entry : shm::node().segment().rank(process).agreements) {
    if (atomic::load_acquire(entry.owner) == owner) return &entry;
  }
  return nullptr;
}

class ByStores final : public AgreementProtocol {
 public:
  explicit ByStores(AgreementPart part) : part_(std::move(part)), owner_(part_.comm.context + 1) {}

  bool advance(AgreementOutcome& outcome) override;
  void describe(p2p::WaitDiagnostics& note) const override;

 private:
  /// Deaths are given by their numbers, which are equal on all processes.
  struct Decision {
    uint32_t flags = 0;
    uint32_t deaths = 0;        // deaths up to this number count
    uint32_t acknowledged = 0;  // deaths up to this number were acknowledged by all participants
    objects::ContextAllocation allocation;
  };

  bool has_decision();
  bool take_place();
  bool passed(const Place& place) const;
  void contribute();
  bool gather();
  void decide(uint32_t flags, uint32_t acknowledged);
  bool read_decision(PeerIndex from);
  void end();
  void wake_all() const;

  const AgreementPart part_;
  const uint32_t owner_;
  Place* place_ = nullptr;
  size_t asked_ = 0;  // index of the member that is expected to decide
  Decision decision_;
};

bool ByStores::advance(AgreementOutcome& outcome) {
  if (place_ == nullptr) {
    if (!take_place()) return false;
    contribute();
  }
  if (!has_decision()) return false;
  end();
  outcome.flags = decision_.flags;
  outcome.allocation = decision_.allocation;
  for (const PeerIndex process : part_.members) {
    if (!is_published_dead(process, decision_.deaths)) continue;
    outcome.lost.push_back(process);
    if (!is_published_dead(process, decision_.acknowledged)) outcome.unexpected.push_back(process);
  }
  return true;
}

bool ByStores::has_decision() {
  const PeerIndex self = p2p::engine().self();
  for (; part_.members[asked_] != self; ++asked_) {
    // Read the death first: the entry then shows everything that the process stored before it died.
    const bool dead = is_published_dead(part_.members[asked_], deaths_published());
    if (read_decision(part_.members[asked_])) return true;
    if (!dead) return false;
  }
  return gather();
}

bool ByStores::take_place() {
  static auto& places = *new std::array<Place, shm::kAgreementsMax>;
  const PeerIndex self = p2p::engine().self();
  Place* best = nullptr;
  for (int i = 0; i < shm::kAgreementsMax; ++i) {
    Place& place = places[static_cast<size_t>(i)];
    place.entry = &shm::node().segment().rank(self).agreements[i];
    if (place.in_use) continue;
    const bool ours = place.entry->owner == owner_;
    if (ours || best == nullptr || best->entry->owner != 0) {
      if (ours || place.entry->owner == 0 || passed(place)) best = &place;
    }
    if (ours) break;
  }
  if (best == nullptr) return false;
  place_ = best;
  place_->in_use = true;
  place_->members = part_.members;
  AgreementEntry& entry = *place_->entry;
  if (entry.owner == owner_) return true;
  // A reader checks `owner` before and after it reads the entry: see read_decision().
  atomic::store_release(entry.owner, 0u);
  atomic::fence_full();
  atomic::store_relaxed(entry.contributed, 0u);
  atomic::store_relaxed(entry.decided, 0u);
  atomic::store_relaxed(entry.passed, 0u);
  atomic::store_release(entry.owner, owner_);
  return true;
}

// Whether no process needs the entry any more. If this process did not decide its last agreement, only the
// deciding process reads the entry, and it had the outcome before this process.
bool ByStores::passed(const Place& place) const {
  const AgreementEntry& own = *place.entry;
  if (own.decided != own.passed) return true;
  const uint32_t deaths = deaths_published();
  return std::all_of(place.members.begin(), place.members.end(), [&](PeerIndex process) {
    if (is_published_dead(process, deaths)) return true;
    const AgreementEntry* entry = entry_of(process, own.owner);
    return entry == nullptr || atomic::load_acquire(entry->passed) >= own.passed;
  });
}

void ByStores::contribute() {
  AgreementEntry& entry = *place_->entry;
  atomic::store_relaxed(entry.flags, part_.flags);
  atomic::store_relaxed(entry.acknowledged, acknowledged_here(part_.comm));
  // Pairs with the load in gather().
  atomic::store_release(entry.contributed, part_.number);
  chaos::at(chaos::Point::agreement_contributed);
  wake_all();
}

bool ByStores::gather() {
  const PeerIndex self = p2p::engine().self();
  uint32_t flags = part_.flags;
  uint32_t acknowledged = acknowledged_here(part_.comm);
  const uint32_t deaths = deaths_published();
  for (const PeerIndex process : part_.members) {
    if (process == self) continue;
    const bool dead = is_published_dead(process, deaths);
    const AgreementEntry* entry = entry_of(process, owner_);
    // Pairs with the store in contribute().
    if (entry != nullptr && atomic::load_acquire(entry->contributed) == part_.number) {
      flags &= atomic::load_relaxed(entry->flags);
      acknowledged = std::min(acknowledged, atomic::load_relaxed(entry->acknowledged));
    } else if (!dead) {
      return false;
    }
  }
  decide(flags, acknowledged);
  return true;
}

void ByStores::decide(uint32_t flags, uint32_t acknowledged) {
  // Read the death count after all contributions: it then includes every death that a contributor knew of.
  decision_ = {.flags = flags, .deaths = deaths_published(), .acknowledged = acknowledged, .allocation = {}};
  if (part_.makes) {
    objects::Peers living;
    std::copy_if(part_.members.begin(), part_.members.end(), std::back_inserter(living),
                 [this](PeerIndex process) { return !is_published_dead(process, decision_.deaths); });
    decision_.allocation.context = p2p::engine().processes().new_context(part_.members);
    chaos::at(chaos::Point::context_taken);
    if (!part_.comm.is_inter()) decision_.allocation.region = region_pool().take(living);
  }
  chaos::at(chaos::Point::agreement_decides);
  AgreementEntry& entry = *place_->entry;
  atomic::store_relaxed(entry.decided_flags, decision_.flags);
  atomic::store_relaxed(entry.decided_acknowledged, decision_.acknowledged);
  atomic::store_relaxed(entry.deaths, decision_.deaths);
  atomic::store_relaxed(entry.context, decision_.allocation.context);
  atomic::store_relaxed(entry.region, decision_.allocation.region);
  // Pairs with the load in read_decision().
  atomic::store_release(entry.decided, part_.number);
  chaos::at(chaos::Point::agreement_decided);
}

bool ByStores::read_decision(PeerIndex from) {
  const AgreementEntry* entry = entry_of(from, owner_);
  if (entry == nullptr || atomic::load_acquire(entry->decided) != part_.number) return false;
  decision_ = {.flags = atomic::load_relaxed(entry->decided_flags),
               .deaths = atomic::load_relaxed(entry->deaths),
               .acknowledged = atomic::load_relaxed(entry->decided_acknowledged),
               .allocation = {.context = atomic::load_relaxed(entry->context),
                              .region = atomic::load_relaxed(entry->region)}};
  atomic::fence_full();
  if (atomic::load_relaxed(entry->owner) != owner_) return false;
  if (const int32_t region = decision_.allocation.region; !region_pool().can_be(region)) {
    shm::report_corruption("rank %d has agreed on collective region %d, and there are %u", from,
                           RegionPool::index_of(region), shm::node().segment().geometry().region_count);
  }
  return true;
}

void ByStores::end() {
  // Pairs with the load in passed().
  atomic::store_release(place_->entry->passed, part_.number);
  place_->in_use = false;
  wake_all();
}

void ByStores::wake_all() const {
  const PeerIndex self = p2p::engine().self();
  for (const PeerIndex process : part_.members) {
    if (process != self) shm::WakeWord(shm::node().segment(), process).wake();
  }
}

void ByStores::describe(p2p::WaitDiagnostics& note) const {
  note.collective(part_.comm.context + kCollectiveContext);
  const PeerIndex self = p2p::engine().self();
  if (part_.members[asked_] != self) return note.missing(part_.members[asked_]);
  for (const PeerIndex process : part_.members) {
    const AgreementEntry* entry = entry_of(process, owner_);
    if (process != self && (entry == nullptr || atomic::load_acquire(entry->contributed) != part_.number)) {
      note.missing(process);
    }
  }
}

}  // namespace

std::unique_ptr<AgreementProtocol> agree_by_stores(AgreementPart part) {
  return std::make_unique<ByStores>(std::move(part));
}

}  // namespace hearth::coll
