#include "p2p/failure_handler.h"

#include <algorithm>
#include <new>

#include "base/contexts.h"
#include "base/copy.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/pools.h"
#include "p2p/partitioned.h"
#include "transport/local_path.h"

namespace hearth::p2p {
namespace {

constexpr int kDrainRoundsMax = 10'000;

template <class Function>
void for_comms(const Function& function) {
  const Pool<objects::Comm>& comms = objects::pools.comms;
  for (size_t slot = 0; slot < comms.slots_used(); ++slot) {
    objects::Comm* comm = comms.at(slot);
    if (comm != nullptr && comm->group != nullptr) function(*comm);
  }
}

}  // namespace

FailureHandler::FailureHandler(PeerIndex self, const Parts& parts)
    : self_(self),
      transport_(parts.transport),
      matching_(parts.matching),
      requests_(parts.requests),
      failures_(parts.failures),
      answers_(parts.answers),
      eager_(parts.eager),
      buffers_(parts.buffers),
      access_(parts.access),
      sends_(parts.sends),
      receives_(parts.receives),
      threads_(parts.threads),
      errors_(parts.errors),
      poll_(parts.poll),
      owner_(parts.owner),
      record_death_(parts.record_death) {
  constexpr size_t kEndedReserved = 256;
  kept_.reserve(kEndedReserved);
}

// Deaths.

bool FailureHandler::handle() try {
  bool moved = abandon_unsent();
  if (failures_.has_news()) {
    moved = true;
    failures_.take_deaths([this](PeerIndex process) {
      if (process != self_) reap(process);
    });
    leave_regions_of_dead();
    for_comms([this](objects::Comm& comm) { close_if_broken(comm); });
    end_sends([this](const MatchKey& key) { return failures_.check_collective(key); }, true);
  }
  // Repeated on each check: a process that takes a collective region may learn of the death later than this
  // one.
  if (failures_.deaths() != 0 && objects::leave_regions_without_id != nullptr) {
    objects::leave_regions_without_id();
  }
  if (failures_.any_revoked()) forget_freed();
  moved |= end_receives([this](const MatchKey& key) { return failures_.check(key); });
  moved |= stall_receives();
  if (moved) threads_.wake();
  return moved;
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("the consequences of a failure");
}

// Only processes that exchange messages with a dead process on another machine detect its death, and other
// processes may wait for them. So each process that receives the report forwards it to ranks at distances 1,
// 2, 4, ... in both directions: all processes have it after log2 P steps, over few connections.
void FailureHandler::pass_on(PeerIndex dead) {
  const PeerIndex count = failures_.home_size();
  if (record_death_ == nullptr || dead >= count) return;
  for (PeerIndex distance = 1; distance < count; distance *= 2) {
    for (const PeerIndex to : {(self_ + distance) % count, (self_ + count - distance) % count}) {
      if (to != self_ && !failures_.is_dead(to))
        answers_.send(to, PacketKind::died, 0, static_cast<uint32_t>(dead));
    }
  }
}

void FailureHandler::on_died(PeerIndex from, uint32_t process) {
  const auto dead = static_cast<PeerIndex>(process);
  if (record_death_ == nullptr || process >= static_cast<uint32_t>(failures_.home_size()) || dead == self_ ||
      failures_.is_dead(dead))
    return;
  record_death_(dead, from);
}

void FailureHandler::reap(PeerIndex process) {
  // Receives what the process sent before it died.
  for (int round = 0; round < kDrainRoundsMax; ++round) {
    poll_(owner_);
    shm::RingReader* direct_ring = transport_.local_path().direct_ring_from(process);
    if (direct_ring == nullptr || direct_ring->peek() == nullptr) break;
  }
  failures_.note_death(process);
  pass_on(process);
  eager_.disable_to(process);
  answers_.drop(process);
  buffers_.release_recycled(process);
  end_sends(
      [this, process](const MatchKey& key) {
        return key.peer == process ? failures_.death_of(process, MPIX_ERR_PROC_FAILED) : Status();
      },
      true);
  buffers_.reclaim(process);
  access_.reap(process);
}

// Repeats this for all dead processes: a process that died now may have counted an earlier dead one among the
// members of a new collective region.
void FailureHandler::leave_regions_of_dead() const {
  if (objects::leave_regions_of == nullptr) return;
  for (PeerIndex process = 0; process < failures_.home_size(); ++process) {
    if (failures_.is_dead(process)) objects::leave_regions_of(process);
  }
}

void FailureHandler::close_if_broken(objects::Comm& comm) {
  if (failures_.mark_broken(comm) && objects::close_region != nullptr) objects::close_region(comm);
}

void FailureHandler::acknowledge(objects::Comm& comm, uint32_t deaths) {
  comm.deaths_acknowledged = std::max(comm.deaths_acknowledged, deaths);
  for (MatchEntry* entry = matching_.posted().first(); entry != nullptr; entry = entry->order.next) {
    auto& request = static_cast<Request&>(*entry);
    if (context_block(request.key.context) == context_block(comm.context)) request.complete = false;
  }
}

// Ending operations. Completion hooks may end further operations, so each one found is checked again.

bool FailureHandler::end_receives(const Hopeless& why) {
  Ended posted(kept_);
  for (MatchEntry* entry = matching_.posted().first(); entry != nullptr; entry = entry->order.next) {
    if (!why(entry->key).ok()) posted.requests.push_back(static_cast<Request*>(entry));
  }
  for (Request* request : posted.requests) {
    if (request->alive != Pool<Request>::kAlive || !request->queued) continue;
    const Status status = why(request->key);
    if (status.ok()) continue;
    matching_.posted().remove(*request);
    requests_.end_receive(*request, request->key.peer, status);
  }
  return receives_.end_if(why, failures_) || !posted.requests.empty();
}

// Completes receives from any source that a dead process might have served, but leaves them posted (complete
// and queued). A later wait for such a receive continues it, after the death has been acknowledged or right
// away.
bool FailureHandler::stall_receives() {
  bool any = false;
  for (MatchEntry* entry = matching_.posted().first(); entry != nullptr; entry = entry->order.next) {
    auto& request = static_cast<Request&>(*entry);
    if (request.complete || request.handle_freed || !failures_.stalls(request.key)) continue;
    request.outcome = Status::error(MPIX_ERR_PROC_FAILED_PENDING);
    request.complete = true;
    any = true;
  }
  return any;
}

void FailureHandler::end_sends(const Hopeless& why, bool exposed_too) {
  Ended list(kept_);
  std::vector<Request*>& ended = list.requests;
  const auto hopeless = [&why](const Request& request) { return !why(request.key).ok(); };
  eager_.take_from_backlogs(hopeless, ended);
  sends_.find(hopeless, exposed_too, ended);
  for (size_t slot = 0; slot < requests_.pool().slots_used(); ++slot) {
    Request* request = requests_.pool().at(slot);
    if (request == nullptr || request->kind != RequestKind::send || !request->await_match) continue;
    if (request->complete || request->send_stream != nullptr || why(request->key).ok()) continue;
    if (std::find(ended.begin(), ended.end(), request) == ended.end()) ended.push_back(request);
  }
  // Answers to these sends may still arrive; the new epoch keeps them from matching later sends.
  if (!ended.empty()) requests_.begin_epoch();
  for (Request* request : ended) {
    if (request->alive != Pool<Request>::kAlive || request->complete) continue;
    sends_.end(*request, why(request->key));
  }
}

void FailureHandler::give_up(uint32_t context, int tag, Status failure) {
  const Hopeless why = [context, tag, failure](const MatchKey& key) {
    return key.context == context && key.tag == tag ? failure : Status();
  };
  end_sends(why, true);
  static_cast<void>(end_receives(why));
}

// Revocation.

FailureRecord::Revoked& FailureHandler::note_revoked(uint32_t context) {
  FailureRecord::Revoked& entry = failures_.note_revoked(context);
  if (entry.comm != nullptr) disable_fast_path(*entry.comm);
  return entry;
}

// Disables the fast path, which does not check contexts, so that messages of the communicator are rejected.
void FailureHandler::disable_fast_path(objects::Comm& comm) {
  comm.failure = MPIX_ERR_REVOKED;
  if (objects::close_region != nullptr) objects::close_region(comm);
  eager_.disable();
}

void FailureHandler::send_revoked(const FailureRecord::Revoked& revoked) {
  for_members(*revoked.comm, [&](PeerIndex process) {
    if (process != self_) answers_.send(process, PacketKind::revoked, 0, revoked.block * kContextsEach);
  });
}

void FailureHandler::end_revoked(const FailureRecord::Revoked& revoked) {
  const uint32_t block = revoked.block;
  drop_unexpected(block);
  static_cast<void>(end_receives([this](const MatchKey& key) { return failures_.check(key); }));
  // Zero-copy sends continue: a receiver that has not received the revocation may still read the buffer.
  end_sends(
      [this, block](const MatchKey& key) {
        return failures_.home_of(key.context) == block ? revoked_status() : Status();
      },
      false);
}

void FailureHandler::revoke(objects::Comm& comm) {
  if (failures_.revoked(comm.context) != nullptr) return;
  const FailureRecord::Revoked& entry = note_revoked(comm.context);
  send_revoked(entry);
  end_revoked(entry);
}

void FailureHandler::abandon(objects::Comm& comm) try {
  if (comm.peer_count > 1 || comm.is_inter()) revoke(comm);
} catch (const std::bad_alloc&) {
  errors_.out_of_memory("a collective call");
}

// Messages of collectives that could not begin for lack of memory, and whose call has returned or still
// waits.
bool FailureHandler::abandon_unsent() {
  bool moved = false;
  while (requests_.any_unsent()) {
    const MatchKey key = requests_.take_unsent();
    objects::Comm* const comm = needs_all(key) ? comm_of(key.context) : nullptr;
    if (comm == nullptr) continue;
    abandon(*comm);
    moved = true;
  }
  return moved;
}

void FailureHandler::on_revoked(PeerIndex from, uint32_t context) {
  // No other process can revoke a communicator with one of these contexts.
  if (context >= kSelfContext && context < kFirstFreeContext) return;
  if (failures_.revoked(context) == nullptr) {
    const FailureRecord::Revoked& entry = note_revoked(context);
    if (entry.comm != nullptr) send_revoked(entry);
    end_revoked(entry);
  }
  const uint32_t block = context_block(context);
  end_sends(
      [this, block, from](const MatchKey& key) {
        return key.peer == from && failures_.home_of(key.context) == block ? revoked_status() : Status();
      },
      true);
}

void FailureHandler::examine(objects::Comm& comm) {
  if (__builtin_expect(!failures_.any(), 1)) return;
  close_if_broken(comm);
  const uint32_t block = context_block(comm.context);
  for (FailureRecord::Revoked& entry : failures_.all_revoked()) {
    if (entry.block != block || entry.comm != nullptr) continue;
    entry.comm = &comm;
    disable_fast_path(comm);
    send_revoked(entry);
  }
}

void FailureHandler::drop_unexpected(uint32_t block) {
  while (drop_unexpected_once(block)) {
  }
}

// Returns whether there may be more: a dropped offer of a partitioned send names a further context, whose
// messages must be dropped too.
bool FailureHandler::drop_unexpected_once(uint32_t block) {
  bool more = false;
  for (MatchEntry* entry = matching_.unexpected().first(); entry != nullptr;) {
    auto& message = static_cast<UnexpectedMessage&>(static_cast<MatchMessage&>(*entry));
    entry = entry->order.next;
    if (failures_.home_of(message.key.context) != block) continue;
    if (PartitionOffer offer; (message.key.context & kOfferContext) && message.stream == nullptr &&
                              message.bytes == static_cast<int64_t>(sizeof offer)) {
      copy_bytes(&offer, message.payload, sizeof offer);
      failures_.adopt(offer.context, message.key.context);
      more = true;
    }
    transport_.add_unexpected_bytes(message.key.peer, -message.memory_bytes());
    drop(message);
  }
  return more;
}

void FailureHandler::drop(UnexpectedMessage& message) {
  matching_.remove(message);
  if (message.stream != nullptr) receives_.drop(*message.stream);
  matching_.destroy(&message);
}

void FailureHandler::drop_messages_from(PeerIndex process) {
  for (MatchEntry* entry = matching_.unexpected().first(); entry != nullptr;) {
    auto& message = static_cast<UnexpectedMessage&>(static_cast<MatchMessage&>(*entry));
    entry = entry->order.next;
    if (message.key.peer == process) drop(message);
  }
}

// Context ids are not reused, so the entries stay. The fast path is enabled again once this process has freed
// all revoked communicators.
void FailureHandler::forget_freed() {
  bool any_in_use = false;
  for (FailureRecord::Revoked& entry : failures_.all_revoked()) {
    if (!matching_.unexpected().empty()) drop_unexpected(entry.block);
    objects::Comm* comm = comm_of(entry.block * kContextsEach);
    if (comm != nullptr && entry.comm == nullptr) examine(*comm);
    entry.comm = comm;
    any_in_use |= entry.comm != nullptr;
  }
  eager_.enable_unless(any_in_use);
}

}  // namespace hearth::p2p
