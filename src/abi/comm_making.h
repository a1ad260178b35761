// How communicators come to be. What it takes is an allotment that everybody in the new communicator knows
// and nobody else in the job uses, a block of context numbers and a control area: one process fetches it and
// tells the others. Parts of a split share an allotment, since no process is in two of them. The two groups
// of an intercommunicator share the contexts, for their local parts; they have no area.
//
// Used by the calls that make communicators, under the library's lock; what waits lets other threads in.
// Several threads may make communicators at the same time, from different ones or under different tags.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "coll/control_area.h"
#include "coll/schedule.h"
#include "objects/comm.h"
#include "objects/group.h"

namespace hearth::abi {

using objects::Comm;
using objects::Errhandler;
using objects::Group;
using objects::Info;
using objects::Peers;

/// This process's share of what was fetched for a new communicator. It leaves the area where no communicator
/// comes of it.
class Share {
 public:
  Share() = default;
  explicit Share(objects::Allotment told) : allotment_(told) {}
  ~Share() { coll::ControlArea::leave(allotment_.area); }
  Share(Share&& other) noexcept : allotment_(other.take()) {}
  Share& operator=(Share&& other) noexcept {
    std::swap(allotment_, other.allotment_);
    return *this;
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// To fetch or to be told.
  objects::Allotment& allotment() { return allotment_; }
  /// Told in time; otherwise it goes on without an area.
  bool accept() {
    const int32_t told = allotment_.area;
    allotment_.area = coll::ControlArea::accept(told);
    return allotment_.area == told;
  }
  /// For who goes on to look after it.
  objects::Allotment take() { return std::exchange(allotment_, {}); }

 private:
  objects::Allotment allotment_;
};

/// A group of these processes, out of a session or (nullptr) MPI_COMM_WORLD.
Status make_group(Peers peers, const objects::Session* session, Group*& group);

/// A communicator around a group, one reference on which it takes over, also where it fails. Without a name,
/// attributes or hints.
Status make_intracomm(Errhandler& errhandler, Share share, Group* group, Comm*& comm);
/// Of these processes, among which is this one. Collective where they are on one machine and the parent is
/// not: they take an area for themselves.
Status make_intracomm(const Comm& parent, Share share, Peers peers, Comm*& comm);
Status make_intercomm(Errhandler& errhandler, uint32_t context, Group* local, Group* remote, Comm*& comm);

/// As `info` says; nullptr for none.
Status set_hints(Comm& comm, const Info* info);
/// Whether those that we follow have values that mean something.
Status check_hints(const Info& info);
/// Puts the thresholds and the algorithms that its hints name in force. Once its context is known.
Status apply_hints(const Comm& comm);
/// The end of that.
void drop_hints(const Comm& comm);

// Agreement. Numbers travel as ints.

using Words = std::vector<int>;

/// Two processes send each other words of any number, in the leaders' context of a communicator.
Status swap_words(objects::PeerIndex peer, uint32_t communicator_context, int tag, const Words& mine,
                  Words& theirs);
/// Collective: all that the processes say, those of rank 0 first; `ends[rank]` is where the words of a rank
/// end.
Status gather_words(Comm& comm, const Words& mine, Words& all, std::vector<int>& ends);
/// Of the two groups of an intercommunicator, the one whose rank 0 comes first in MPI_COMM_WORLD; always of
/// an intracommunicator.
bool is_first_group(const Comm& comm);
/// For a communicator or the parts of a split: all of `members` will be told, each of which has a share then.
/// There is no area where they are on several machines.
objects::Allotment fetch_allotment(const Peers& members);
/// What rank 0 of the first group fetches for all who are in `comm`, or in both groups of an
/// intercommunicator; nothing elsewhere.
objects::Allotment fetch_allotment_for(const Comm& comm);
/// Collective, over both groups of an intercommunicator: brings that to all others.
Status tell_allotment(coll::Schedule& schedule, objects::Allotment* allotment, bool first_group);
/// The same for a duplicate that is made, whose hints are in force from then on.
Status tell_duplicate(coll::Schedule& schedule, Comm* made, bool first_group);
/// Both: the same everywhere.
Status agree_on_allotment(Comm& comm, Share& share);
/// All processes of the own group, also of an intercommunicator's, get the root's words.
Status tell_group(Comm& comm, int root, Words& words);
/// Collective over an intercommunicator: each group learns what rank 0 of the other one says, and all get the
/// same allotment, with an area when what is made will have one group.
Status swap_between_groups(Comm& inter, const Words& mine, Words& theirs, bool one_group, Share& share);
/// A collective of src/coll in the own group, also of an intercommunicator.
template <auto build, class... Arguments>
Status run_in_group(Comm& comm, Arguments&&... arguments) {
  if (!comm.is_inter()) return coll::run<build>(comm, std::forward<Arguments>(arguments)...);
  // Tags that are not negative are free: MPI_Comm_create_group, which uses them, is for intracommunicators.
  coll::Schedule schedule(*comm.group, comm, 0);
  const Status built = build(schedule, std::forward<Arguments>(arguments)...);
  const Status done = schedule.finish();
  return built.ok() ? done : built;
}

// From a group alone (MPI 5.0 sections 11.3.4, 7.6.2). Only the processes of the groups take part; who calls
// with the same groups and the same words meets. Pre: the groups are not empty, and the caller is in `group`.

Status comm_from_group(Group& group, const char* words, const Info* info, Errhandler& errhandler,
                       Comm*& comm);
/// `remote` and `remote_leader` count at the local leader only.
Status intercomm_from_groups(Group& local, int local_leader, const Group* remote, int remote_leader,
                             const char* words, const Info* info, Errhandler& errhandler, Comm*& comm);

}  // namespace hearth::abi
