// How communicators come to be. What it takes is a block of context numbers that everybody in the new
// communicator knows and nobody else in the job uses: one process fetches it and tells the others. Parts of a
// split share a block, since no process is in two of them; so do the two groups of an intercommunicator, for
// their local parts.
//
// Used by the calls that make communicators, under the library's lock; what waits lets other threads in.
// Several threads may make communicators at the same time, from different ones or under different tags.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "objects/comm.h"
#include "objects/group.h"

namespace hearth::abi {

using objects::Comm;
using objects::Errhandler;
using objects::Group;
using objects::Info;
using objects::Peers;

/// Blocks of context numbers for an intercommunicator: its own, and that of its local intracommunicators.
struct ContextPair {
  int inter = 0;
  int local = 0;
};

/// A group of these processes.
Status make_group(Peers peers, Group*& group);

/// A communicator around a group, one reference on which it takes over, also where it fails. Without a name,
/// attributes or hints.
Status make_intracomm(Errhandler& errhandler, uint32_t context, Group* group, Comm*& comm);
/// Of these processes, among which is this one.
Status make_intracomm(const Comm& parent, uint32_t context, Peers peers, Comm*& comm);
Status make_intercomm(Errhandler& errhandler, ContextPair contexts, Group* local, Group* remote, Comm*& comm);

/// As `info` says; nullptr for none.
Status set_hints(Comm& comm, const Info* info);

// Agreement. Numbers travel as ints.

using Words = std::vector<int>;

/// Fetched by one process for all.
ContextPair fresh_contexts();

/// Two processes send each other words of any number, in the leaders' context of a communicator.
Status swap_words(objects::PeerIndex peer, uint32_t communicator_context, int tag, const Words& mine,
                  Words& theirs);
/// A new block of contexts, the same on all ranks of an intracommunicator.
Status agree_on_context(Comm& comm, uint32_t& context);
/// All processes of an intracommunicator get the root's words.
Status tell_all(Comm& comm, int root, Words& words);
/// Collective over an intercommunicator: each group learns what rank 0 of the other one says, and all get the
/// same contexts.
Status swap_between_groups(Comm& inter, const Words& mine, Words& theirs, ContextPair& contexts);

// From a group alone (MPI 5.0 sections 11.3.4, 7.6.2). Only the processes of the groups take part; who calls
// with the same groups and the same words meets. Pre: the groups are not empty, and the caller is in `group`.

Status comm_from_group(Group& group, const char* words, const Info* info, Errhandler& errhandler,
                       Comm*& comm);
/// `remote` and `remote_leader` count at the local leader only.
Status intercomm_from_groups(Group& local, int local_leader, const Group* remote, int remote_leader,
                             const char* words, const Info* info, Errhandler& errhandler, Comm*& comm);

}  // namespace hearth::abi
