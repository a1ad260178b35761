// Makes communicators. A new communicator needs a context-id allocation: a block of context ids and a
// collective region, which all of its members know and no other communicator uses. One process fetches it and
// distributes it to the others. The parts of a split share one allocation, since no process is in two of
// them. The two groups of an intercommunicator share the context ids for their local parts; they have no
// region.
//
// Called under the library's lock, which blocking calls release for other threads. Several threads may make
// communicators at the same time, from different communicators or with different tags.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "abi/bridges.h"
#include "base/status.h"
#include "coll/collective_region.h"
#include "coll/schedule.h"
#include "objects/comm.h"
#include "objects/group.h"

namespace hearth::abi {

using objects::Comm;
using objects::Errhandler;
using objects::Group;
using objects::Info;
using objects::Peers;

/// This process's part of the allocation for a new communicator. Leaves the region on destruction, unless a
/// communicator has taken it over.
class OwnedAllocation {
 public:
  OwnedAllocation() = default;
  explicit OwnedAllocation(objects::ContextAllocation fetched) : allocation_(fetched) {}
  ~OwnedAllocation() { coll::region_pool().leave(allocation_.region); }
  OwnedAllocation(OwnedAllocation&& other) noexcept : allocation_(other.take()) {}
  OwnedAllocation& operator=(OwnedAllocation&& other) noexcept {
    std::swap(allocation_, other.allocation_);
    return *this;
  }
  OwnedAllocation(const OwnedAllocation&) = delete;
  OwnedAllocation& operator=(const OwnedAllocation&) = delete;

  /// To fill in, after fetching or receiving it.
  objects::ContextAllocation& allocation() { return allocation_; }
  /// False if the allocation arrived after this process had left its region: it then has no region.
  bool accept() {
    const int32_t region_id = allocation_.region;
    allocation_.region = coll::region_pool().accept(region_id);
    return allocation_.region == region_id;
  }
  /// The caller becomes responsible for leaving the region.
  objects::ContextAllocation take() { return std::exchange(allocation_, {}); }

 private:
  objects::ContextAllocation allocation_;
};

/// A group of these processes, from a session or (nullptr) from MPI_COMM_WORLD.
Status make_group(Peers peers, const objects::Session* session, Group*& group);

/// Makes a communicator of a group, without name, attributes or hints. Takes over one reference to the group,
/// also on failure.
Status make_intracomm(Errhandler& errhandler, OwnedAllocation owned, Group* group, Comm*& comm);
/// Makes a communicator of these processes, including this one. Collective if they are on one machine and the
/// parent is not: they then allocate a region.
Status make_intracomm(const Comm& parent, OwnedAllocation owned, Peers peers, Comm*& comm);
Status make_intercomm(Errhandler& errhandler, uint32_t context, Group* local, Group* remote, Comm*& comm);

/// Sets the hints of `info`; nullptr for none.
Status set_hints(Comm& comm, const Info* info);
/// Fails if a supported hint has an invalid value.
Status check_hints(const Info& info);
/// Applies the thresholds and algorithms that the hints name. Pre: the context id is known.
Status apply_hints(const Comm& comm);
/// Reverts apply_hints().
void drop_hints(const Comm& comm);

// Agreement between processes. All data are exchanged as ints.

using Words = std::vector<int>;

/// Processes as words for other processes, which may number them differently.
void append_name(const ProcessName& name, Words& words);
Words names_as_words(const Peers& peers);
std::vector<ProcessName> names_in(const Words& words, size_t first);
/// The reverse of names_as_words(), from `first` on. Fails for a process that this one is not connected to.
Status peers_in(const Words& words, size_t first, Peers& peers);

/// Two processes exchange words of any number, in the leaders' context of a communicator.
Status swap_words(objects::PeerIndex peer, uint32_t communicator_context, int tag, const Words& mine,
                  Words& theirs);
/// Collective: gathers the words of all processes in rank order; `ends[rank]` is the end of a rank's words.
Status gather_words(Comm& comm, const Words& mine, Words& all, std::vector<int>& ends);
/// True for the group of an intercommunicator whose rank 0 comes first (Bridges::comes_before), and for every
/// intracommunicator.
bool is_first_group(const Comm& comm);
/// Fetches an allocation for a communicator or for the parts of a split. All of `members` must receive it:
/// the region counts them. On several machines there is no region.
objects::ContextAllocation fetch_allocation(const Peers& members);
/// Rank 0 of the first group fetches for all members of `comm`, or of both groups of an intercommunicator.
/// All other ranks get an empty allocation.
objects::ContextAllocation fetch_allocation_for(Comm& comm);
/// Collective, over both groups of an intercommunicator: distributes that allocation.
Status distribute_allocation(coll::Schedule& schedule, objects::ContextAllocation* allocation,
                             bool first_group);
/// The same for a new duplicate, whose hints take effect on completion.
Status distribute_duplicate(coll::Schedule& schedule, Comm* made, bool first_group);
/// Fetches and distributes an allocation; equal on all ranks.
Status agree_on_allocation(Comm& comm, OwnedAllocation& owned);
/// The same among the processes of `group`. Only they call, with the same tag.
Status agree_on_allocation_among(const Group& group, Comm& comm, int tag, OwnedAllocation& owned);
/// Broadcasts the root's words in the own group, also of an intercommunicator.
Status broadcast_to_group(Comm& comm, int root, Words& words);
/// Collective over an intercommunicator: each group receives the words of the other group's rank 0, and all
/// ranks receive the same allocation, with a region if the result has one group.
Status swap_between_groups(Comm& inter, const Words& mine, Words& theirs, bool one_group,
                           OwnedAllocation& owned);
/// Runs a collective of src/coll among the processes of `group`. Only they call, with the same tag, which is
/// not negative. If one of them has no memory for its messages, `comm` is revoked, so that the others do not
/// wait; the caller does the same if it throws std::bad_alloc.
template <auto build, class... Arguments>
Status run_among(const Group& group, Comm& comm, int tag, Arguments&&... arguments) {
  coll::Schedule schedule(group, comm, tag);
  const Status built = build(schedule, std::forward<Arguments>(arguments)...);
  const Status done = schedule.finish();
  return coll::abandon_unbuilt(comm, built.ok() ? done : built);
}
/// The same in the own group, also of an intercommunicator.
template <auto build, class... Arguments>
Status run_in_group(Comm& comm, Arguments&&... arguments) {
  if (!comm.is_inter()) return coll::run<build>(comm, std::forward<Arguments>(arguments)...);
  // Tag 0 is unused here: only MPI_Comm_create_group passes tags, on intracommunicators.
  return run_among<build>(*comm.group, comm, 0, std::forward<Arguments>(arguments)...);
}

// From a group alone (MPI 5.0 sections 11.3.4, 7.6.2). Only members of the groups take part; calls with the
// same groups and the same string match. Pre: the groups are not empty, and the caller is in `group`.

Status comm_from_group(Group& group, const char* words, const Info* info, Errhandler& errhandler,
                       Comm*& comm);
/// `remote` and `remote_leader` are significant at the local leader only.
Status intercomm_from_groups(Group& local, int local_leader, const Group* remote, int remote_leader,
                             const char* words, const Info* info, Errhandler& errhandler, Comm*& comm);

}  // namespace hearth::abi
