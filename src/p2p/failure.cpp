// Operations after the death of a process or the revocation of a communicator.
//
// Waiting loops that have found nothing for a while check for failures; the message path never does. Each
// death is handled once: the packets that the process sent before are received, every operation that needs
// the process ends with an error, and its bounce buffers are reclaimed. From then on each check also ends
// receives that were posted later. Collectives need all members, so those of a communicator with a dead
// member end too (coll/schedule.cpp).
//
// A revocation is a packet to every member, and each member that receives it forwards it to all others. So
// all live members learn of it, whichever processes die. The packet also tells its receiver that the sender
// no longer accesses buffers exposed for that communicator.
#include <algorithm>
#include <new>

#include "base/contexts.h"
#include "base/copy.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/pools.h"
#include "p2p/cma_access.h"
#include "p2p/engine.h"
#include "p2p/partitioned.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::p2p {
namespace {

constexpr int kDrainRoundsMax = 10'000;

uint32_t block_of(uint32_t context) {
  return (context & ~kOfferContext) / kContextsEach;
}

/// Whether the operation belongs to a collective call of the whole communicator, not of some of its
/// processes.
bool needs_all(const MatchKey& key) {
  return key.context % kContextsEach == kCollectiveContext && key.tag < MPI_ANY_TAG;
}

bool awaits_acknowledgement(const objects::Comm* comm) {
  return comm != nullptr && comm->last_death > comm->deaths_acknowledged;
}

template <class Function>
void for_members(const objects::Comm& comm, const Function& function) {
  for (const PeerIndex process : comm.group->peers) function(process);
  if (!comm.is_inter()) return;
  for (const PeerIndex process : comm.remote_group->peers) function(process);
}

template <class Function>
void for_comms(const Function& function) {
  const Pool<objects::Comm>& comms = objects::pools.comms;
  for (size_t slot = 0; slot < comms.slots_used(); ++slot) {
    objects::Comm* comm = comms.at(slot);
    if (comm != nullptr && comm->group != nullptr) function(*comm);
  }
}

Status revoked_status() {
  return fail(
      MPIX_ERR_REVOKED,
      "the communicator was revoked (MPIX_Comm_revoke). Remedy: go on with what MPIX_Comm_shrink makes of "
      "it");
}

}  // namespace

// Queries.

bool Engine::has_dead(std::span<const PeerIndex> processes) const {
  return std::any_of(processes.begin(), processes.end(),
                     [this](PeerIndex process) { return is_dead(process); });
}

Status Engine::death_among(std::span<const PeerIndex> processes) const {
  for (const PeerIndex process : processes) {
    if (is_dead(process)) return death_of(process, MPIX_ERR_PROC_FAILED);
  }
  return {};
}

Status Engine::death_of(PeerIndex process, int error_class) const {
  char text[160];
  liveness_->describe(process, text, sizeof text);
  return fail(error_class, "%s", text);
}

Status Engine::failure_of(const objects::Comm& comm) const {
  if (__builtin_expect(comm.failure == 0, 1)) return {};
  if (comm.failure == MPIX_ERR_REVOKED) return revoked_status();
  PeerIndex dead = MPI_PROC_NULL;
  for_members(comm, [&](PeerIndex process) {
    if (dead == MPI_PROC_NULL && is_dead(process)) dead = process;
  });
  return death_of(dead, MPIX_ERR_PROC_FAILED);
}

Status Engine::check_source(PeerIndex from, uint32_t context) const {
  if (__builtin_expect(!has_failures_, 1)) return {};
  if (revoked(context) != nullptr) return revoked_status();
  if (from >= 0) return is_dead(from) ? death_of(from, MPIX_ERR_PROC_FAILED) : Status();
  const objects::Comm* comm = comm_of(context);
  if (!awaits_acknowledgement(comm)) return {};
  PeerIndex dead = MPI_PROC_NULL;
  for_members(*comm, [&](PeerIndex process) {
    if (is_dead(process) && liveness_->death_of(process) == comm->last_death) dead = process;
  });
  return death_of(dead, MPIX_ERR_PROC_FAILED);
}

Status Engine::why_hopeless(const MatchKey& key) const {
  if (revoked(key.context) != nullptr) return revoked_status();
  if (key.peer >= 0 && is_dead(key.peer)) return death_of(key.peer, MPIX_ERR_PROC_FAILED);
  if (!needs_all(key)) return {};
  const objects::Comm* comm = comm_of(key.context);
  return comm == nullptr ? Status() : failure_of(*comm);
}

Status Engine::reworded(const Request& request) const {
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

void Engine::watch_awaited() {
  for (const MatchEntry* entry = posted_.first(); entry != nullptr; entry = entry->order.next) {
    if (entry->key.peer >= 0) transport_.watch(entry->key.peer);
  }
}

bool Engine::handle_failures() try {
  bool moved = false;
  const uint32_t deaths = liveness_ != nullptr ? liveness_->deaths() : 0;
  if (deaths != deaths_seen_) {
    moved = has_failures_ = true;
    deaths_seen_ = deaths;
    for (size_t index = 0; index < peers_.size(); ++index) {
      const auto process = static_cast<PeerIndex>(index);
      if (process == self_ || is_dead(process)) continue;
      const uint32_t death = liveness_->death_of(process);
      if (death != 0 && death <= deaths) reap(process);
    }
    leave_regions_of_dead();
    for_comms([this](objects::Comm& comm) { mark_broken(comm); });
    end_sends(
        [this](const MatchKey& key) {
          const objects::Comm* comm = needs_all(key) ? comm_of(key.context) : nullptr;
          return comm == nullptr ? Status() : failure_of(*comm);
        },
        true);
  }
  // Repeated on each check: a process that takes a collective region may learn of the death later than this
  // one.
  if (deaths_seen_ != 0 && objects::leave_regions_without_id != nullptr) objects::leave_regions_without_id();
  if (!revoked_.empty()) forget_freed();
  moved |= end_receives([this](const MatchKey& key) { return why_hopeless(key); });
  moved |= stall_receives();
  if (moved) wake_threads();
  return moved;
} catch (const std::bad_alloc&) {
  out_of_memory("the consequences of a failure");
}

// Only processes that exchange messages with a dead process on another machine detect its death, and other
// processes may wait for them. So each process that learns of it forwards it to ranks at distances 1, 2, 4,
// ... in both directions: all learn of it in log2 P steps, over few connections.
void Engine::pass_on(PeerIndex dead) {
  if (record_death_ == nullptr) return;
  const auto count = static_cast<PeerIndex>(peers_.size());
  for (PeerIndex distance = 1; distance < count; distance *= 2) {
    for (const PeerIndex to : {(self_ + distance) % count, (self_ + count - distance) % count}) {
      if (to != self_ && !is_dead(to)) answer(to, PacketKind::died, 0, static_cast<uint32_t>(dead));
    }
  }
}

void Engine::on_died(PeerIndex from, uint32_t process) {
  const auto dead = static_cast<PeerIndex>(process);
  if (record_death_ == nullptr || process >= peers_.size() || dead == self_ || is_dead(dead)) return;
  record_death_(dead, from);
}

void Engine::reap(PeerIndex process) {
  // Receives what the process sent before it died.
  for (int round = 0; round < kDrainRoundsMax; ++round) {
    static_cast<void>(transport_.poll(&Engine::handle, this));
    shm::RingReader* direct_ring = local_path_.direct_ring_from(process);
    if (direct_ring == nullptr || direct_ring->peek() == nullptr) break;
  }
  Peer& peer = peers_[static_cast<size_t>(process)];
  peer.dead = true;
  pass_on(process);
  peer.fast_path = false;
  peer.answers.clear();
  give_back_recycled(process);
  end_sends(
      [this, process](const MatchKey& key) {
        return key.peer == process ? death_of(process, MPIX_ERR_PROC_FAILED) : Status();
      },
      true);
  take_cells_back(process);
  // Processes on other machines have no local rank and no slots in the control block.
  if (const int place = place_of(process); control_block_ && place >= 0)
    CmaAccess::end_of(*control_block_(self_), place);
}

// Repeats this for all dead processes: a process that died now may have counted an earlier dead one among the
// members of a new collective region.
void Engine::leave_regions_of_dead() const {
  if (objects::leave_regions_of == nullptr) return;
  for (size_t index = 0; index < peers_.size(); ++index) {
    if (peers_[index].dead) objects::leave_regions_of(static_cast<PeerIndex>(index));
  }
}

// Reclaims the bounce buffers that a dead process has not released.
void Engine::take_cells_back(PeerIndex process) {
  for (size_t at = 0; at < cell_receivers_.size(); ++at) {
    if (cell_receivers_[at] != process) continue;
    const auto cell = static_cast<int>(at);
    if (!bounce_buffers_.returned(self_, cell, bounce_buffers_.ticket(self_, cell))) {
      bounce_buffers_.release(self_, cell, self_);
    }
    cell_receivers_[at] = MPI_PROC_NULL;
  }
}

void Engine::mark_broken(objects::Comm& comm) {
  for_members(comm, [&](PeerIndex process) {
    if (is_dead(process)) comm.last_death = std::max(comm.last_death, liveness_->death_of(process));
  });
  if (comm.last_death == 0 || comm.failure != 0) return;
  comm.failure = MPIX_ERR_PROC_FAILED;
  if (objects::close_region != nullptr) objects::close_region(comm);
}

void Engine::acknowledge(objects::Comm& comm, uint32_t deaths) {
  comm.deaths_acknowledged = std::max(comm.deaths_acknowledged, deaths);
  for (MatchEntry* entry = posted_.first(); entry != nullptr; entry = entry->order.next) {
    auto& request = static_cast<Request&>(*entry);
    if (block_of(request.key.context) == block_of(comm.context)) request.complete = false;
  }
}

// Ending operations. Completion hooks may end further operations, so each one found is checked again.

void Engine::end_receive(Request& request, PeerIndex from, Status status) {
  request.from = from;
  request.received_tag = request.key.tag;
  request.received_bytes = 0;
  complete(request, status);
}

void Engine::end_unstarted(Request& request, Status status) {
  if (request.kind == RequestKind::receive) return end_receive(request, request.key.peer, status);
  complete(request, status);
}

bool Engine::end_receives(const Hopeless& why) {
  std::vector<Request*> posted;
  for (MatchEntry* entry = posted_.first(); entry != nullptr; entry = entry->order.next) {
    if (!why(entry->key).ok()) posted.push_back(static_cast<Request*>(entry));
  }
  for (Request* request : posted) {
    if (request->alive != Pool<Request>::kAlive || !request->queued) continue;
    const Status status = why(request->key);
    if (status.ok()) continue;
    posted_.remove(*request);
    end_receive(*request, request->key.peer, status);
  }
  bool any = !posted.empty();
  for (Peer& peer : peers_) {
    if (peer.streams.empty()) continue;
    const std::vector<ReceiveStream*> streams = peer.streams;
    for (ReceiveStream* stream : streams) {
      if (stream->alive != Pool<ReceiveStream>::kAlive || stream->request == nullptr) continue;
      // The sender may be writing to the buffer; it answers when it has finished.
      if (stream->asked_to_write && !peer.dead) continue;
      Request& request = *stream->request;
      const Status status = why({request.key.context, stream->from, request.received_tag});
      if (status.ok()) continue;
      const PeerIndex from = stream->from;
      unlist(peer.streams, *stream);
      receive_streams_.destroy(stream);
      end_receive(request, from, status);
      any = true;
    }
  }
  return any;
}

// Completes receives from any source that a dead process might have served, but leaves them posted (complete
// and queued). A later wait for such a receive continues it, after the death has been acknowledged or right
// away.
bool Engine::stall_receives() {
  bool any = false;
  for (MatchEntry* entry = posted_.first(); entry != nullptr; entry = entry->order.next) {
    auto& request = static_cast<Request&>(*entry);
    if (request.key.peer != MPI_ANY_SOURCE || is_collective(request.key.context)) continue;
    if (request.complete || request.handle_freed || !awaits_acknowledgement(comm_of(request.key.context)))
      continue;
    request.outcome = Status::error(MPIX_ERR_PROC_FAILED_PENDING);
    request.complete = true;
    any = true;
  }
  return any;
}

void Engine::end_send(Request& request, Status status) {
  if (SendStream* stream = request.send_stream; stream != nullptr) {
    unlist(sending_, *stream);
    if (stream->to_answer) {
      answer(request.key.peer, PacketKind::written, stream->answer_flags, cookie_of(request));
    }
    if (stream->offered != 0) peers_[static_cast<size_t>(request.key.peer)].skew.zero_copy_ended();
    request.send_stream = nullptr;
    send_streams_.destroy(stream);
  }
  request.await_match = false;
  complete_send(request, status);
}

void Engine::end_sends(const Hopeless& why, bool lent_too) {
  std::vector<Request*> ended;
  for (Peer& peer : peers_) {
    Request* kept = nullptr;
    Request* kept_last = nullptr;
    for (Request* request = peer.backlog; request != nullptr;) {
      Request* next = request->next;
      if (!why(request->key).ok()) {
        ended.push_back(request);
      } else {
        (kept != nullptr ? kept_last->next : kept) = request;
        kept_last = request;
        request->next = nullptr;
      }
      request = next;
    }
    peer.backlog = kept;
    peer.backlog_last = kept_last;
  }
  for (size_t slot = 0; slot < send_streams_.slots_used(); ++slot) {
    const SendStream* stream = send_streams_.at(slot);
    if (stream == nullptr || (stream->offered != 0 && !lent_too)) continue;
    if (!why(stream->request->key).ok()) ended.push_back(stream->request);
  }
  for (size_t slot = 0; slot < requests_.slots_used(); ++slot) {
    Request* request = requests_.at(slot);
    if (request == nullptr || request->kind != RequestKind::send || !request->await_match) continue;
    if (request->complete || request->send_stream != nullptr || why(request->key).ok()) continue;
    if (std::find(ended.begin(), ended.end(), request) == ended.end()) ended.push_back(request);
  }
  // Answers to these sends may still arrive; the new epoch keeps them from matching later sends.
  if (!ended.empty() && ++epoch_ == 0) epoch_ = 1;
  for (Request* request : ended) {
    if (request->alive != Pool<Request>::kAlive || request->complete) continue;
    end_send(*request, why(request->key));
  }
}

void Engine::give_up(uint32_t context, int tag, Status failure) {
  const Hopeless why = [context, tag, failure](const MatchKey& key) {
    return key.context == context && key.tag == tag ? failure : Status();
  };
  end_sends(why, true);
  static_cast<void>(end_receives(why));
}

// Revocation.

void Engine::adopt(uint32_t context, uint32_t home) {
  adopted_.push_back({block_of(context), block_of(home)});
}

// The entry stays while the communicator is revoked, because messages may still arrive.
void Engine::disown(uint32_t context) {
  if (revoked(context) != nullptr) return;
  std::erase_if(adopted_, [context](const Adopted& one) { return one.block == block_of(context); });
}

/// The block of the communicator that a context belongs to.
uint32_t Engine::home_of(uint32_t context) const {
  const uint32_t block = block_of(context);
  const auto found = std::find_if(adopted_.begin(), adopted_.end(),
                                  [block](const Adopted& one) { return one.block == block; });
  return found == adopted_.end() ? block : found->home;
}

const Engine::Revoked* Engine::revoked(uint32_t context) const {
  if (revoked_.empty()) return nullptr;
  const uint32_t block = home_of(context);
  const auto found = std::find_if(revoked_.begin(), revoked_.end(),
                                  [block](const Revoked& entry) { return entry.block == block; });
  return found == revoked_.end() ? nullptr : &*found;
}

Engine::Revoked& Engine::note_revoked(uint32_t context) {
  const uint32_t block = block_of(context);
  revoked_.push_back({block, comm_of(block * kContextsEach)});
  has_failures_ = true;
  if (revoked_.back().comm != nullptr) disable_fast_path(*revoked_.back().comm);
  return revoked_.back();
}

// Disables the fast path, which does not check contexts, so that messages of the communicator are rejected.
void Engine::disable_fast_path(objects::Comm& comm) {
  comm.failure = MPIX_ERR_REVOKED;
  if (objects::close_region != nullptr) objects::close_region(comm);
  fast_path_disabled_ = true;
  for (Peer& peer : peers_) {
    peer.fast_path = false;
    peer.direct_ring_from = nullptr;
  }
}

void Engine::tell_revoked(const Revoked& revoked) {
  for_members(*revoked.comm, [&](PeerIndex process) {
    if (process != self_) answer(process, PacketKind::revoked, 0, revoked.block * kContextsEach);
  });
}

void Engine::end_revoked(const Revoked& revoked) {
  const uint32_t block = revoked.block;
  drop_unexpected(block);
  static_cast<void>(end_receives([this](const MatchKey& key) { return why_hopeless(key); }));
  // Zero-copy sends go on: a receiver that has not learned of the revocation may still read the buffer.
  end_sends([this, block](
                const MatchKey& key) { return home_of(key.context) == block ? revoked_status() : Status(); },
            false);
}

void Engine::revoke(objects::Comm& comm) {
  if (revoked(comm.context) != nullptr) return;
  const Revoked& entry = note_revoked(comm.context);
  tell_revoked(entry);
  end_revoked(entry);
}

void Engine::on_revoked(PeerIndex from, uint32_t context) {
  // No other process can revoke a communicator with one of these contexts.
  if (context >= kSelfContext && context < kFirstFreeContext) return;
  if (revoked(context) == nullptr) {
    const Revoked& entry = note_revoked(context);
    if (entry.comm != nullptr) tell_revoked(entry);
    end_revoked(entry);
  }
  const uint32_t block = block_of(context);
  end_sends(
      [this, block, from](const MatchKey& key) {
        return key.peer == from && home_of(key.context) == block ? revoked_status() : Status();
      },
      true);
}

void Engine::examine(objects::Comm& comm) {
  if (__builtin_expect(!has_failures_, 1)) return;
  mark_broken(comm);
  const uint32_t block = block_of(comm.context);
  for (Revoked& entry : revoked_) {
    if (entry.block != block || entry.comm != nullptr) continue;
    entry.comm = &comm;
    disable_fast_path(comm);
    tell_revoked(entry);
  }
}

void Engine::drop_unexpected(uint32_t block) {
  while (drop_unexpected_once(block)) {
  }
}

// Returns whether there may be more: a dropped offer of a partitioned send names a further context, whose
// messages must be dropped too.
bool Engine::drop_unexpected_once(uint32_t block) {
  std::vector<UnexpectedMessage*> dropped;
  for (MatchEntry* entry = unexpected_.first(); entry != nullptr; entry = entry->order.next) {
    if (home_of(entry->key.context) != block) continue;
    dropped.push_back(static_cast<UnexpectedMessage*>(static_cast<MatchMessage*>(entry)));
  }
  bool more = false;
  for (UnexpectedMessage* message : dropped) {
    if (PartitionOffer offer; (message->key.context & kOfferContext) && message->stream == nullptr &&
                              message->bytes == static_cast<int64_t>(sizeof offer)) {
      copy_bytes(&offer, message->payload, sizeof offer);
      adopt(offer.context, message->key.context);
      more = true;
    }
    discard(message);
  }
  return more;
}

// Context ids are not reused, so the entries stay. The fast path is enabled again once this process has freed
// all revoked communicators.
void Engine::forget_freed() {
  fast_path_disabled_ = chaos::disables_fast_path();
  for (Revoked& entry : revoked_) {
    if (!unexpected_.empty()) drop_unexpected(entry.block);
    objects::Comm* comm = comm_of(entry.block * kContextsEach);
    if (comm != nullptr && entry.comm == nullptr) examine(*comm);
    entry.comm = comm;
    fast_path_disabled_ |= entry.comm != nullptr;
  }
}

}  // namespace hearth::p2p
