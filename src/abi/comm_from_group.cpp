// Communicators from groups, without a communicator in which the members could agree. One process sends an
// invitation to each other member: the new context id with the data that identify the matching call, in a
// context reserved by the job. A waiting process receives all invitations and stores those for other threads
// or for its own later calls.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "abi/comm_making.h"
#include "abi/requests.h"
#include "abi/runtime.h"
#include "base/contexts.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "p2p/engine.h"
#include "p2p/wait_diagnostics.h"

namespace hearth::abi {
namespace {

using objects::PeerIndex;

/// Kinds of invitation: to an intracommunicator; to an intercommunicator, within a group or between the
/// leaders.
enum class Purpose : int { comm, intercomm, other_leader };

struct Invitation {
  // Identification of the matching call.
  Purpose purpose = Purpose::comm;
  PeerIndex from = 0;
  Peers members;  // the group with which sender and receiver call; between the leaders, the sender's group
  std::string text;
  // Contents. Without remote members, the intercommunicator cannot be made: the leader returns the cause.
  objects::ContextAllocation allocation = {};  // for an intercommunicator, the context only
  Peers remote = {};

  bool answers(const Invitation& wanted) const {
    return purpose == wanted.purpose && from == wanted.from && members == wanted.members &&
           text == wanted.text;
  }
};

constexpr int kTag = 0;
constexpr size_t kHeadWords = 6;

Words to_words(const Invitation& invitation) {
  Words words = {static_cast<int>(invitation.purpose),
                 static_cast<int>(invitation.allocation.context),
                 invitation.allocation.region,
                 static_cast<int>(invitation.members.size()),
                 static_cast<int>(invitation.remote.size()),
                 static_cast<int>(invitation.text.size())};
  words.insert(words.end(), invitation.members.begin(), invitation.members.end());
  words.insert(words.end(), invitation.remote.begin(), invitation.remote.end());
  words.insert(words.end(), invitation.text.begin(), invitation.text.end());
  return words;
}

Invitation from_words(PeerIndex from, const Words& words) {
  Invitation invitation;
  invitation.purpose = static_cast<Purpose>(words[0]);
  invitation.from = from;
  invitation.allocation = {.context = static_cast<uint32_t>(words[1]), .region = words[2]};
  const auto members = words.begin() + kHeadWords;
  const auto remote = members + words[3];
  const auto text = remote + words[4];
  invitation.members.assign(members, remote);
  invitation.remote.assign(remote, text);
  invitation.text.assign(text, text + words[5]);
  return invitation;
}

Status send(const Invitation& invitation, PeerIndex to) {
  const Words words = to_words(invitation);
  return p2p::engine().send(words.data(), static_cast<int64_t>(words.size() * sizeof(int)), byte_type(), to,
                            kTag, kInvitationContext);
}

Status send_to_others(const Invitation& invitation, const Group& group) {
  for (const PeerIndex peer : group.peers) {
    if (peer != invitation.from) HEARTH_TRY(send(invitation, peer));
  }
  return {};
}

// Invitations that were received and not yet taken, in order of arrival.
std::vector<Invitation>& kept() {
  static auto& all = *new std::vector<Invitation>;
  return all;
}
// One thread at a time receives them, which keeps their order.
bool taking_in = false;

bool is_kept(const Invitation& wanted) {
  return std::any_of(kept().begin(), kept().end(),
                     [&wanted](const Invitation& one) { return one.answers(wanted); });
}

Status take_in(const p2p::Received& received) {
  Words words(static_cast<size_t>(received.bytes) / sizeof(int));
  taking_in = true;
  const Status status = p2p::engine().receive(words.data(), received.bytes, byte_type(), received.from, kTag,
                                              kInvitationContext);
  taking_in = false;
  if (status.ok()) kept().push_back(from_words(received.from, words));
  // Another thread may wait for this invitation, or for the next one.
  p2p::engine().wake_threads();
  return status;
}

/// Waits for the invitation that matches `wanted`, and fills in its contents.
Status wait_for(Invitation& wanted) {
  p2p::Engine& engine = p2p::engine();
  while (!is_kept(wanted)) {
    p2p::Received received;
    bool came = false;
    bool in_vain = false;
    engine.wait_until(
        [&] {
          came = in_vain = false;  // another thread may have received it since the last poll
          if (is_kept(wanted)) return true;
          came = !taking_in && engine.probes().has_come(MPI_ANY_SOURCE, kTag, kInvitationContext, received);
          if (!came) in_vain = engine.failures().has_dead(wanted.members);
          return came || in_vain;
        },
        [&wanted](p2p::WaitDiagnostics& note) {
          note.collective(kInvitationContext);
          if (wanted.from >= 0) note.missing(wanted.from);
        });
    if (came) HEARTH_TRY(take_in(received));
    if (in_vain) return engine.failures().death_among(wanted.members);
  }
  const auto place = std::find_if(kept().begin(), kept().end(),
                                  [&wanted](const Invitation& one) { return one.answers(wanted); });
  wanted = std::move(*place);
  kept().erase(place);
  return {};
}

/// The local leader's exchange with the other leader; fills in the invitation to its group.
Status meet_other_leader(const Group& local, const Group* remote, int remote_leader, Invitation& invitation) {
  if (remote == nullptr) return fail(MPI_ERR_GROUP, "remote_group is not a group, at the local leader");
  if (remote_leader < 0 || remote_leader >= remote->size()) {
    return fail(MPI_ERR_RANK, "remote_leader is %d, but the ranks of remote_group are 0 to %d", remote_leader,
                remote->size() - 1);
  }
  for (const PeerIndex peer : remote->peers) {
    if (local.rank_of(peer) == MPI_UNDEFINED) continue;
    return fail(MPI_ERR_GROUP,
                "rank %d of MPI_COMM_WORLD is in both groups, which must have no process in common", peer);
  }
  const PeerIndex other = remote->peers[static_cast<size_t>(remote_leader)];
  // The leader that comes first in MPI_COMM_WORLD allocates the context id and invites the other one.
  Invitation between = invitation;
  between.purpose = Purpose::other_leader;
  if (invitation.from < other) {
    between.allocation.context = p2p::engine().processes().new_context(remote->peers);
    HEARTH_TRY(send(between, other));
  } else {
    between.from = other;
    between.members = remote->peers;
    HEARTH_TRY(wait_for(between));
  }
  invitation.allocation = between.allocation;
  invitation.remote = remote->peers;
  return {};
}

Status finish(Comm* made, const Info* info, Comm*& comm) {
  note_errhandler(*made->errhandler);
  Status status = set_hints(*made, info);
  if (status.ok()) status = apply_hints(*made);
  if (status.ok()) {
    comm = made;
  } else {
    objects::release(*made);
  }
  return status;
}

}  // namespace

Status comm_from_group(Group& group, const char* words, const Info* info, Errhandler& errhandler,
                       Comm*& comm) {
  Invitation invitation{.from = group.peers[0], .members = group.peers, .text = words};
  if (group.rank == 0) {
    invitation.allocation = fetch_allocation(group.peers);
  } else {
    HEARTH_TRY(wait_for(invitation));
  }
  OwnedAllocation owned(invitation.allocation);
  if (group.rank == 0) HEARTH_TRY(send_to_others(invitation, group));
  Group* own = nullptr;
  HEARTH_TRY(make_group(group.peers, group.session, own));
  Comm* made = nullptr;
  HEARTH_TRY(make_intracomm(errhandler, std::move(owned), own, made));
  return finish(made, info, comm);
}

Status intercomm_from_groups(Group& local, int local_leader, const Group* remote, int remote_leader,
                             const char* words, const Info* info, Errhandler& errhandler, Comm*& comm) {
  if (local_leader < 0 || local_leader >= local.size()) {
    return fail(MPI_ERR_RANK, "local_leader is %d, but the ranks of local_group are 0 to %d", local_leader,
                local.size() - 1);
  }
  Invitation invitation{.purpose = Purpose::intercomm,
                        .from = local.peers[static_cast<size_t>(local_leader)],
                        .members = local.peers,
                        .text = words};
  if (local.rank == local_leader) {
    const Status met = meet_other_leader(local, remote, remote_leader, invitation);
    HEARTH_TRY(send_to_others(invitation, local));
    HEARTH_TRY(met);
  } else {
    HEARTH_TRY(wait_for(invitation));
  }
  if (invitation.remote.empty()) {
    return fail(MPI_ERR_OTHER,
                "rank %d, the local leader, could not reach the remote one: its error says why",
                local_leader);
  }
  Group* own = nullptr;
  HEARTH_TRY(make_group(local.peers, local.session, own));
  Group* other = nullptr;
  const Status status = make_group(invitation.remote, local.session, other);
  if (!status.ok()) {
    objects::release(*own);
    return status;
  }
  Comm* made = nullptr;
  HEARTH_TRY(make_intercomm(errhandler, invitation.allocation.context, own, other, made));
  return finish(made, info, comm);
}

}  // namespace hearth::abi
