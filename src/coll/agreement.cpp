#include "coll/agreement.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/atomic.h"
#include "base/chaos.h"
#include "base/contexts.h"
#include "coll/control_area.h"
#include "p2p/wait_note.h"
#include "shm/damage.h"
#include "shm/liveness.h"
#include "shm/wait.h"

namespace hearth::coll {

using objects::PeerIndex;
using shm::AgreementEntry;

/// An entry of our own, and whose it was last.
struct Agreement::Place {
  AgreementEntry* entry = nullptr;
  objects::Peers members;
  bool in_use = false;
};

namespace {

const shm::Segment* the_segment = nullptr;

bool is_told_dead(PeerIndex process, uint32_t deaths) {
  const uint32_t death = shm::Liveness(*the_segment).death_of(process);
  return death != 0 && death <= deaths;
}

uint32_t deaths_told() {
  return shm::Liveness(*the_segment).deaths();
}

/// Of another process; nullptr when it has none.
const AgreementEntry* entry_of(PeerIndex process, uint32_t owner) {
  for (const AgreementEntry& entry : the_segment->rank(process).agreements) {
    if (atomic::load_acquire(entry.owner) == owner) return &entry;
  }
  return nullptr;
}

}  // namespace

void Agreement::set_up(const shm::Segment& segment) {
  the_segment = &segment;
}

Agreement::Agreement(objects::Comm& comm, uint32_t flags, bool makes)
    : comm_(comm), owner_(comm.context + 1), number_(++comm.agreements), flags_(flags), makes_(makes) {
  members_ = comm.group->peers;
  if (!comm.is_inter()) return;
  const objects::Peers& others = comm.remote_group->peers;
  // The same order on both sides.
  members_.insert(others[0] < members_[0] ? members_.begin() : members_.end(), others.begin(), others.end());
}

bool Agreement::advance() {
  if (place_ == nullptr) {
    if (comm_.agreements_over + 1 != number_ || !take_place()) return false;
    contribute();
  }
  const PeerIndex self = p2p::engine().self();
  for (; members_[asked_] != self; ++asked_) {
    // In this order: what it stored before it died is there to be read afterwards.
    const bool dead = is_told_dead(members_[asked_], deaths_told());
    if (read_outcome(members_[asked_])) {
      end();
      return true;
    }
    if (!dead) return false;
  }
  if (!gather()) return false;
  end();
  return true;
}

bool Agreement::take_place() {
  static auto& places = *new std::array<Place, shm::kAgreementsMax>;
  const PeerIndex self = p2p::engine().self();
  Place* best = nullptr;
  for (int i = 0; i < shm::kAgreementsMax; ++i) {
    Place& place = places[static_cast<size_t>(i)];
    place.entry = &the_segment->rank(self).agreements[i];
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
  place_->members = members_;
  AgreementEntry& entry = *place_->entry;
  if (entry.owner == owner_) return true;
  // Readers look at the owner before and after: see read_outcome().
  atomic::store_release(entry.owner, 0u);
  atomic::fence_full();
  atomic::store_relaxed(entry.contributed, 0u);
  atomic::store_relaxed(entry.decided, 0u);
  atomic::store_relaxed(entry.passed, 0u);
  atomic::store_release(entry.owner, owner_);
  return true;
}

// Whether nobody wants to know any more what the entry says: who has not decided is read only by who has not
// come to an outcome yet, which it had before this process.
bool Agreement::passed(const Place& place) const {
  const AgreementEntry& own = *place.entry;
  if (own.decided != own.passed) return true;
  const uint32_t deaths = deaths_told();
  return std::all_of(place.members.begin(), place.members.end(), [&](PeerIndex process) {
    if (is_told_dead(process, deaths)) return true;
    const AgreementEntry* entry = entry_of(process, own.owner);
    return entry == nullptr || atomic::load_acquire(entry->passed) >= own.passed;
  });
}

void Agreement::contribute() {
  AgreementEntry& entry = *place_->entry;
  atomic::store_relaxed(entry.flags, flags_);
  atomic::store_relaxed(entry.acknowledged, comm_.deaths_acknowledged);
  // Pairs with the load in gather().
  atomic::store_release(entry.contributed, number_);
  chaos::at(chaos::Point::agreement_said);
  ring_all();
}

bool Agreement::gather() {
  const PeerIndex self = p2p::engine().self();
  uint32_t flags = flags_;
  uint32_t acknowledged = comm_.deaths_acknowledged;
  const uint32_t deaths = deaths_told();
  for (const PeerIndex process : members_) {
    if (process == self) continue;
    const bool dead = is_told_dead(process, deaths);
    const AgreementEntry* entry = entry_of(process, owner_);
    // Pairs with the store in contribute().
    if (entry != nullptr && atomic::load_acquire(entry->contributed) == number_) {
      flags &= atomic::load_relaxed(entry->flags);
      acknowledged = std::min(acknowledged, atomic::load_relaxed(entry->acknowledged));
    } else if (!dead) {
      return false;
    }
  }
  decide(flags, acknowledged);
  return true;
}

void Agreement::decide(uint32_t flags, uint32_t acknowledged) {
  // After all had their say: what any of them knew to be dead is among these.
  outcome_ = {.flags = flags, .deaths = deaths_told(), .acknowledged = acknowledged, .allotment = {}};
  if (makes_) {
    objects::Peers living;
    std::copy_if(members_.begin(), members_.end(), std::back_inserter(living),
                 [this](PeerIndex process) { return !is_lost(process); });
    outcome_.allotment.context = p2p::engine().new_context();
    chaos::at(chaos::Point::context_taken);
    if (!comm_.is_inter()) outcome_.allotment.area = ControlArea::take(living);
  }
  chaos::at(chaos::Point::agreement_decides);
  AgreementEntry& entry = *place_->entry;
  atomic::store_relaxed(entry.decided_flags, outcome_.flags);
  atomic::store_relaxed(entry.decided_acknowledged, outcome_.acknowledged);
  atomic::store_relaxed(entry.deaths, outcome_.deaths);
  atomic::store_relaxed(entry.context, outcome_.allotment.context);
  atomic::store_relaxed(entry.area, outcome_.allotment.area);
  // Pairs with the load in read_outcome().
  atomic::store_release(entry.decided, number_);
  chaos::at(chaos::Point::agreement_decided);
}

bool Agreement::read_outcome(PeerIndex from) {
  const AgreementEntry* entry = entry_of(from, owner_);
  if (entry == nullptr || atomic::load_acquire(entry->decided) != number_) return false;
  outcome_ = {.flags = atomic::load_relaxed(entry->decided_flags),
              .deaths = atomic::load_relaxed(entry->deaths),
              .acknowledged = atomic::load_relaxed(entry->decided_acknowledged),
              .allotment = {.context = atomic::load_relaxed(entry->context),
                            .area = atomic::load_relaxed(entry->area)}};
  atomic::fence_full();
  if (atomic::load_relaxed(entry->owner) != owner_) return false;
  if (const int32_t area = outcome_.allotment.area; !ControlArea::can_be(area)) {
    shm::damaged("rank %d has agreed on area %d, and there are %u", from, ControlArea::index_of(area),
                 the_segment->geometry().area_count);
  }
  return true;
}

void Agreement::end() {
  // Pairs with the load in passed().
  atomic::store_release(place_->entry->passed, number_);
  place_->in_use = false;
  comm_.agreements_over = number_;
  ring_all();
}

void Agreement::ring_all() const {
  const PeerIndex self = p2p::engine().self();
  for (const PeerIndex process : members_) {
    if (process != self) shm::Bell(*the_segment, process).ring();
  }
}

bool Agreement::is_lost(PeerIndex process) const {
  return is_told_dead(process, outcome_.deaths);
}

void Agreement::describe(p2p::WaitNote& note) const {
  note.collective(comm_.context + kCollectiveContext);
  const PeerIndex self = p2p::engine().self();
  if (members_[asked_] != self) return note.missing(members_[asked_]);
  for (const PeerIndex process : members_) {
    const AgreementEntry* entry = entry_of(process, owner_);
    if (process != self && (entry == nullptr || atomic::load_acquire(entry->contributed) != number_)) {
      note.missing(process);
    }
  }
}

void Agreement::run() {
  p2p::Engine& engine = p2p::engine();
  struct Watch final : p2p::Polled {
    Agreement* watched = nullptr;
    bool over = false;
    bool advance() override { return over = watched->advance(); }
  } watch;
  watch.watched = this;
  engine.poll(watch);
  engine.wait_until([&watch] { return watch.over; }, [this](p2p::WaitNote& note) { describe(note); });
}

}  // namespace hearth::coll
