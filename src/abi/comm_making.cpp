#include "abi/comm_making.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "abi/hints.h"
#include "abi/requests.h"
#include "abi/runtime.h"
#include "base/chaos.h"
#include "base/contexts.h"
#include "coll/coll.h"
#include "coll/collective_region.h"
#include "coll/select.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"
#include "p2p/engine.h"
#include "tune/threshold.h"

namespace hearth::abi {

using objects::PeerIndex;

namespace {

Status obtain_region(Comm& comm) {
  const bool takes = comm.rank == 0 && comm.failure == 0;
  int32_t region = takes ? coll::region_pool().take(comm.group->peers) : objects::kNoRegion;
  const Status status = coll::run<coll::bcast>(comm, &region, Count{sizeof region}, byte_type(), 0);
  if (status.ok()) {
    comm.region = coll::region_pool().accept(region);
  } else {
    coll::region_pool().leave(region);
  }
  return status;
}

}  // namespace

Status make_group(Peers peers, const objects::Session* session, Group*& group) {
  group = objects::pools.groups.create();
  if (group == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another group");
  group->peers = std::move(peers);
  group->index(p2p::engine().self());
  group->session = session;
  return {};
}

Status make_intracomm(Errhandler& errhandler, OwnedAllocation owned, Group* group, Comm*& comm) {
  if (!owned.accept() && !p2p::engine().failures().has_dead(group->peers)) {
    // The other members of this part use a region that this process has left.
    objects::release(*group);
    return fail(
        MPIX_ERR_PROC_FAILED,
        "a process has died while the communicator was made; it is not in it, but was to take part in "
        "making it");
  }
  comm = objects::pools.comms.create();
  if (comm == nullptr) {
    objects::release(*group);
    return fail(MPI_ERR_NO_MEM, "no memory for another communicator");
  }
  static_cast<objects::ContextAllocation&>(*comm) = owned.take();
  if (group->machines == nullptr) note_machines(*group);
  comm->region_agreed = comm->region != objects::kNoRegion;
  comm->group = group;
  comm->rank = group->rank;
  comm->size = comm->peer_count = group->size();
  comm->peers = group->peers.data();
  comm->errhandler = &errhandler;
  objects::retain(errhandler);
  p2p::engine().failure_handler().examine(*comm);
  return {};
}

Status make_intracomm(const Comm& parent, OwnedAllocation owned, Peers peers, Comm*& comm) {
  Group* group = nullptr;
  HEARTH_TRY(make_group(std::move(peers), parent.group->session, group));
  HEARTH_TRY(make_intracomm(*parent.errhandler, std::move(owned), group, comm));
  const bool alone = on_one_machine(comm->group->peers) && !on_one_machine(parent.group->peers);
  return alone && comm->size > 1 ? obtain_region(*comm) : Status();
}

Status make_intercomm(Errhandler& errhandler, uint32_t context, Group* local, Group* remote, Comm*& comm) {
  const Status status = make_intracomm(errhandler, OwnedAllocation({.context = context}), local, comm);
  if (!status.ok()) {
    objects::release(*remote);
    return status;
  }
  comm->remote_group = remote;
  comm->peers = remote->peers.data();
  comm->peer_count = remote->size();
  p2p::engine().failure_handler().examine(*comm);
  return {};
}

Status check_hints(const Info& info) {
  for (const auto& [key, value] : info.entries) {
    if (key == coll::kAlgorithmsHint) HEARTH_TRY(coll::check_wishes(value));
  }
  return tune::Hints().read(info.entries);
}

Status set_hints(Comm& comm, const Info* info) {
  if (info == nullptr) return {};
  HEARTH_TRY(check_hints(*info));
  comm.info = objects::pools.infos.create();
  if (comm.info == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for the communicator's hints");
  keep_hints(*info, kCommHints, *comm.info);
  return {};
}

Status apply_hints(const Comm& comm) {
  if (comm.info == nullptr) return {};
  for (const auto& [key, value] : comm.info->entries) {
    if (key != coll::kAlgorithmsHint) continue;
    HEARTH_TRY(coll::set_wishes(comm.context, value));
    if (comm.region_view != nullptr) comm.region_view->update_limits();
    if (comm.machine_region_view != nullptr) comm.machine_region_view->update_limits();
  }
  tune::Hints hints;
  HEARTH_TRY(hints.read(comm.info->entries));
  p2p::engine().pairs().set_hints(comm.context, hints);
  return {};
}

void drop_hints(const Comm& comm) {
  p2p::engine().pairs().set_hints(comm.context, {});
  [[maybe_unused]] const Status none = coll::set_wishes(comm.context, "");
}

namespace {

constexpr size_t kNameWords = sizeof(ProcessName) / sizeof(int);

}  // namespace

void append_name(const ProcessName& name, Words& words) {
  const size_t begin = words.size();
  words.resize(begin + kNameWords);
  std::memcpy(&words[begin], &name, sizeof name);
}

Words names_as_words(const Peers& peers) {
  Words words;
  for (const PeerIndex peer : peers) append_name(runtime().bridges.name_of(peer), words);
  return words;
}

std::vector<ProcessName> names_in(const Words& words, size_t first) {
  std::vector<ProcessName> names((words.size() - first) / kNameWords);
  if (!names.empty()) std::memcpy(names.data(), &words[first], names.size() * sizeof(ProcessName));
  return names;
}

Status peers_in(const Words& words, size_t first, Peers& peers) {
  peers.clear();
  for (const ProcessName& name : names_in(words, first)) {
    peers.push_back(runtime().bridges.find(name));
    if (peers.back() != MPI_PROC_NULL) continue;
    return fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "this process is not connected to a process of the other group (rank %llu of another job). Remedy: "
        "connect the two groups by MPI_Comm_accept and MPI_Comm_connect",
        static_cast<unsigned long long>(name.rank));
  }
  return {};
}

Status swap_words(PeerIndex peer, uint32_t communicator_context, int tag, const Words& mine, Words& theirs) {
  p2p::Engine& engine = p2p::engine();
  const uint32_t context = communicator_context + kLeaderContext;
  p2p::Request* sending = nullptr;
  constexpr auto kWordBytes = static_cast<int64_t>(sizeof(int));
  HEARTH_TRY(engine.isend(mine.data(), static_cast<int64_t>(mine.size()) * kWordBytes, byte_type(), peer, tag,
                          context, sending));
  p2p::Received received;
  Status status = engine.probes().probe(peer, tag, context, received);
  if (status.ok()) {
    theirs.resize(static_cast<size_t>(received.bytes / kWordBytes));
    status = engine.receive(theirs.data(), received.bytes, byte_type(), peer, tag, context);
  }
  const Status sent = engine.wait(sending);
  return status.ok() ? sent : status;
}

Status gather_words(Comm& comm, const Words& mine, Words& all, std::vector<int>& ends) try {
  const auto size = static_cast<size_t>(comm.size);
  std::vector<int> counts(size);
  counts[static_cast<size_t>(comm.rank)] = static_cast<int>(mine.size() * sizeof(int));
  datatype::Type& bytes = byte_type();
  HEARTH_TRY(
      coll::run<coll::allgather>(comm, MPI_IN_PLACE, 0, bytes, counts.data(), Count{sizeof(int)}, bytes));
  std::vector<int64_t> wide_counts(counts.begin(), counts.end());
  std::vector<int64_t> places(size);
  int64_t total = 0;
  ends.clear();
  for (size_t rank = 0; rank < size; ++rank) {
    places[rank] = total;
    total += counts[rank];
    ends.push_back(static_cast<int>(total / static_cast<int64_t>(sizeof(int))));
  }
  all.resize(static_cast<size_t>(ends.back()));
  return coll::run<coll::allgatherv>(comm, mine.data(), counts[static_cast<size_t>(comm.rank)], bytes,
                                     all.data(), CountArray(wide_counts.data()), CountArray(places.data()),
                                     bytes);
} catch (const std::bad_alloc&) {
  coll::abandon(comm);
  throw;
}

bool is_first_group(const Comm& comm) {
  return !comm.is_inter() ||
         runtime().bridges.comes_before(comm.group->peers[0], comm.remote_group->peers[0]);
}

objects::ContextAllocation fetch_allocation(const Peers& members) {
  // A communicator with a dead member has no collectives, and a member that did not receive the allocation
  // would never leave the region.
  const bool has_region = on_one_machine(members) && !p2p::engine().failures().has_dead(members);
  const uint32_t context = p2p::engine().processes().new_context(members);
  chaos::at(chaos::Point::context_taken);
  return {.context = context, .region = has_region ? coll::region_pool().take(members) : objects::kNoRegion};
}

objects::ContextAllocation fetch_allocation_for(Comm& comm) try {
  if (comm.rank != 0 || !is_first_group(comm)) return {};
  if (!comm.is_inter()) return fetch_allocation(comm.group->peers);
  Peers all = comm.group->peers;
  all.insert(all.end(), comm.remote_group->peers.begin(), comm.remote_group->peers.end());
  return {.context = p2p::engine().processes().new_context(all)};
} catch (const std::bad_alloc&) {
  coll::abandon(comm);
  throw;
}

Status distribute_allocation(coll::Schedule& schedule, objects::ContextAllocation* allocation,
                             bool first_group) {
  constexpr Count kBytes = sizeof *allocation;
  if (!schedule.is_inter()) return coll::bcast(schedule, allocation, kBytes, byte_type(), 0);
  if (first_group) {
    HEARTH_TRY(coll::bcast_in_group(schedule, allocation, kBytes, byte_type(), 0));
    schedule.face_other_group();
    for (int rank = 0; schedule.rank() == 0 && rank < schedule.other_size(); ++rank) {
      schedule.send_bytes(allocation, kBytes, rank);
    }
  } else {
    schedule.face_other_group();
    schedule.receive_bytes(allocation, kBytes, 0);
  }
  return {};
}

namespace {

/// Last step of a duplicate: accepts the allocation and applies the hints. Local, no other rank takes part.
class LastStep final : public coll::SharedCollective {
 public:
  explicit LastStep(Comm& comm) : comm_(comm) {}
  void begin() override {}
  bool advance() override {
    comm_.region = coll::region_pool().accept(comm_.region);
    // After a death the context id may not have arrived.
    if (comm_.context == 0) return true;
    // A faster member may have revoked the duplicate already.
    p2p::engine().failure_handler().examine(comm_);
    outcome = apply_hints(comm_);
    return true;
  }
  bool check_failure() override { return true; }

 private:
  Comm& comm_;
};

}  // namespace

Status distribute_duplicate(coll::Schedule& schedule, Comm* made, bool first_group) {
  HEARTH_TRY(distribute_allocation(schedule, made, first_group));
  LastStep* last_step;
  HEARTH_TRY(schedule.make_shared(last_step, *made));
  schedule.add_shared(*last_step);
  return {};
}

Status agree_on_allocation(Comm& comm, OwnedAllocation& owned) {
  owned = OwnedAllocation(fetch_allocation_for(comm));
  return coll::run<distribute_allocation>(comm, &owned.allocation(), is_first_group(comm));
}

Status agree_on_allocation_among(const Group& group, Comm& comm, int tag, OwnedAllocation& owned) try {
  if (group.rank == 0) owned = OwnedAllocation(fetch_allocation(group.peers));
  return run_among<coll::bcast>(group, comm, tag, &owned.allocation(), Count{sizeof owned.allocation()},
                                byte_type(), 0);
} catch (const std::bad_alloc&) {
  coll::abandon(comm);
  throw;
}

Status broadcast_to_group(Comm& comm, int root, Words& words) try {
  auto count = static_cast<Count>(words.size());
  HEARTH_TRY(run_in_group<coll::bcast>(comm, &count, Count{sizeof count}, byte_type(), root));
  words.resize(static_cast<size_t>(count));
  return run_in_group<coll::bcast>(comm, words.data(), count * Count{sizeof(int)}, byte_type(), root);
} catch (const std::bad_alloc&) {
  coll::abandon(comm);
  throw;
}

Status swap_between_groups(Comm& inter, const Words& mine, Words& theirs, bool one_group,
                           OwnedAllocation& owned) {
  // Different from all tags that users may pass to MPI_Intercomm_create for the leaders.
  constexpr int kTag = -1000;
  if (inter.rank == 0) {
    const bool fetches = is_first_group(inter);
    objects::ContextAllocation fetched;
    if (fetches) {
      Peers all = inter.group->peers;
      all.insert(all.end(), inter.remote_group->peers.begin(), inter.remote_group->peers.end());
      fetched = one_group ? fetch_allocation(all) : fetch_allocation_for(inter);
    }
    Words said = mine;
    said.push_back(static_cast<int>(fetched.context));
    said.push_back(fetched.region);
    HEARTH_TRY(swap_words(inter.remote_group->peers[0], inter.context, kTag, said, theirs));
    if (fetches) std::copy(said.end() - 2, said.end(), theirs.end() - 2);
  }
  HEARTH_TRY(broadcast_to_group(inter, 0, theirs));
  const auto allocation = theirs.end() - 2;
  owned = OwnedAllocation({.context = static_cast<uint32_t>(allocation[0]), .region = allocation[1]});
  theirs.erase(allocation, theirs.end());
  return {};
}

}  // namespace hearth::abi
