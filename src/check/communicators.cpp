#include "check/communicators.h"

#include <algorithm>
#include <cstring>

#include "base/atomic.h"

namespace hearth::check {
namespace {

uint64_t hash_of(const std::vector<uint32_t>& members) {
  uint64_t hash = members.size();
  for (const uint32_t member : members) hash = mix(hash, member);
  return hash;
}

std::string name_of(MPI_Comm handle) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(handle, name, &length);
  return name;
}

}  // namespace

std::vector<uint32_t> Communicators::processes_of(MPI_Group group) const {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<size_t>(size));
  std::vector<int> in_job(ranks.size());
  for (int i = 0; i < size; ++i) ranks[static_cast<size_t>(i)] = i;
  if (size > 0) PMPI_Group_translate_ranks(group, size, ranks.data(), job_, in_job.data());
  std::vector<uint32_t> processes;
  for (const int rank : in_job) processes.push_back(rank < 0 ? UINT32_MAX : static_cast<uint32_t>(rank));
  return processes;
}

bool Communicators::read_groups(MPI_Comm handle, Comm& comm) const {
  if (job_ == MPI_GROUP_NULL) return false;
  MPI_Group group = MPI_GROUP_NULL;
  int inter = 0;
  PMPI_Comm_test_inter(handle, &inter);
  PMPI_Comm_rank(handle, &comm.rank);
  PMPI_Comm_group(handle, &group);
  comm.members = processes_of(group);
  PMPI_Group_free(&group);
  comm.peers = comm.members;
  comm.inter = inter != 0;
  if (comm.inter) {
    PMPI_Comm_remote_group(handle, &group);
    comm.peers = processes_of(group);
    PMPI_Group_free(&group);
  }
  comm.handle = handle;
  comm.name = name_of(handle);
  return true;
}

void Communicators::put_on_board(Comm& comm) {
  if (!report_.has_board() || report_.own().comms >= shm::kCheckComms) return;
  comm.place = report_.own().comms;
  shm::CheckComm& entry = report_.own().comm[comm.place];
  entry.id = comm.id;
  std::strncpy(entry.name, comm.name.c_str(), sizeof entry.name - 1);
  report_.own().comms = comm.place + 1;
}

void Communicators::add_world() {
  let_go();
  PMPI_Comm_group(MPI_COMM_WORLD, &job_);
  for (const MPI_Comm handle : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    auto comm = std::make_shared<Comm>();
    if (!read_groups(handle, *comm)) continue;
    comm->id = handle == MPI_COMM_WORLD ? mix(1, 1) : mix(2, report_.rank());
    put_on_board(*comm);
    known_[handle] = comm;
  }
}

void Communicators::add_session(MPI_Session session) {
  if (job_ != MPI_GROUP_NULL) return;
  if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &job_) != MPI_SUCCESS) job_ = MPI_GROUP_NULL;
}

void Communicators::let_go() {
  if (job_ != MPI_GROUP_NULL) PMPI_Group_free(&job_);
  job_ = MPI_GROUP_NULL;
}

void Communicators::forget_world() {
  known_.erase(MPI_COMM_WORLD);
  known_.erase(MPI_COMM_SELF);
}

CommPointer Communicators::find(MPI_Comm handle) const {
  const auto found = known_.find(handle);
  return found == known_.end() ? nullptr : found->second;
}

void Communicators::add(MPI_Comm made, const Arguments& call, const CommPointer& parent, uint64_t number) {
  auto comm = std::make_shared<Comm>();
  if (call.function() == Call::comm_idup || call.function() == Call::comm_idup_with_info) {
    // The new communicator must not be used before the request completes; its groups equal the parent's.
    if (parent == nullptr) return;
    *comm = Comm();
    comm->members = parent->members;
    comm->peers = parent->peers;
    comm->rank = parent->rank;
    comm->inter = parent->inter;
    comm->handle = made;
  } else if (!read_groups(made, *comm)) {
    return;
  }
  // Threads that create intercommunicators at the same time distinguish them by tags, which may belong to
  // different peers.
  const bool unsure = several_threads_ && call.function() == Call::intercomm_create;
  if (comm->members.empty() || unsure) return;
  // Use a value that both sides of an intercommunicator share.
  uint64_t first = comm->members[0];
  if (comm->inter && !comm->peers.empty()) first = std::min(first, uint64_t{comm->peers[0]});
  if (parent != nullptr) {
    comm->id = mix(mix(parent->id, number), first);
  } else {
    uint64_t key = hash_of(comm->members);
    if (comm->inter) key = std::min(key, hash_of(comm->peers)) * 31 + std::max(key, hash_of(comm->peers));
    if (call.function() == Call::comm_create_group) {
      const CommPointer around = find(call.handle<MPI_Comm>("comm"));
      if (around == nullptr) return;
      key = mix(key, around->id);
    }
    if (call.has("tag")) key = mix(key, call.word("tag"));
    const char* text = call.has("stringtag") ? call.pointer<const char>("stringtag") : nullptr;
    if (text != nullptr) key = mix(key, check::hash_of(std::string(text)));
    comm->id = mix(key, ++made_of_groups_[key]);
  }
  if (comm->name.empty()) {
    comm->name = "a communicator of " + std::to_string(comm->members.size()) +
                 (comm->inter ? " and " + std::to_string(comm->peers.size()) : std::string()) + " made by " +
                 call.name();
  }
  put_on_board(*comm);
  known_[made] = comm;
}

CommPointer Communicators::add_file(MPI_File file, MPI_Group group, const std::string& name, uint64_t id) {
  auto comm = std::make_shared<Comm>();
  comm->file = file;
  comm->id = id;
  comm->name = name;
  PMPI_Group_rank(group, &comm->rank);
  comm->members = comm->peers = processes_of(group);
  put_on_board(*comm);
  return comm;
}

CommPointer Communicators::take_out(MPI_Comm handle) {
  const CommPointer comm = find(handle);
  known_.erase(handle);
  return comm;
}

void Communicators::put_back(const CommPointer& comm) {
  if (comm != nullptr) known_[comm->handle] = comm;
}

void Communicators::note_freed(const Comm& comm) {
  if (comm.place != UINT32_MAX) report_.own().comm[comm.place].freed = 1;
}

void Communicators::rename(MPI_Comm handle) {
  const CommPointer comm = find(handle);
  if (comm == nullptr) return;
  comm->name = name_of(handle);
  if (comm->place == UINT32_MAX) return;
  char* name = report_.own().comm[comm->place].name;
  std::strncpy(name, comm->name.c_str(), sizeof shm::CheckComm::name - 1);
}

uint64_t Communicators::count_collective(Comm& comm, Call function, uint32_t site) {
  const uint64_t number = ++comm.collectives;
  if (comm.place == UINT32_MAX) return number;
  shm::CheckComm& entry = report_.own().comm[comm.place];
  entry.last_site = site;
  entry.last_call = static_cast<uint16_t>(function);
  atomic::store_relaxed(entry.collectives, number);
  return number;
}

std::string rank_words(const Comm& comm, int64_t peer) {
  const std::string number = std::to_string(peer);
  const uint32_t process = comm.process(peer);
  if (process == UINT32_MAX || process == static_cast<uint64_t>(peer)) return "rank " + number;
  return "rank " + number + " (" + std::to_string(process) + " of the job)";
}

}  // namespace hearth::check
