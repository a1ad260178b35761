// The communicators of a process, by handle: their members as ranks of the job, and an id that all members
// derive equally without exchanging messages. The id follows from the parent's id and the number of preceding
// collectives, which all members call in the same order; without a parent, from the group.
//
// Under the check library's lock.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/arguments.h"
#include "check/report.h"

namespace hearth::check {

struct Posted;

/// Messages from one sender, or to one receiver, with one tag.
struct Stream {
  uint64_t number = 0;     // of the last message
  int at_once = 0;         // threads that are sending on it
  bool unordered = false;  // several threads sent at the same time: numbers are unreliable
};
using StreamKey = std::pair<uint32_t, int>;  // process and tag

struct Comm {
  MPI_Comm handle = MPI_COMM_NULL;
  MPI_File file = MPI_FILE_NULL;  // instead, if these are the processes of an open file
  uint64_t id = 0;
  int rank = 0;
  bool inter = false;
  std::vector<uint32_t> members;  // of the own group
  std::vector<uint32_t> peers;    // partners of messages: the remote group, or the own one
  uint64_t collectives = 0;
  uint32_t place = UINT32_MAX;  // index on the board
  std::string name;

  std::map<StreamKey, Stream> sent;
  std::map<StreamKey, uint64_t> received;
  std::deque<std::shared_ptr<Posted>> posted;  // receives whose message has no number yet, oldest first
  int receiving = 0;                           // threads in a call that posts one
  bool receives_unordered = false;

  /// The job rank of a peer; UINT32_MAX if there is none.
  uint32_t process(int64_t peer) const {
    return peer >= 0 && peer < static_cast<int64_t>(peers.size()) ? peers[static_cast<size_t>(peer)]
                                                                  : UINT32_MAX;
  }
};
using CommPointer = std::shared_ptr<Comm>;

class Communicators {
 public:
  explicit Communicators(Report& report) : report_(report) {}

  /// After MPI_Init.
  void add_world();
  /// Call if several threads may create communicators at the same time. Ranks might then assign different ids
  /// to two results of MPI_Intercomm_create, so these are not checked.
  void expect_threads() { several_threads_ = true; }
  /// After MPI_Session_init: the session's process set gives the job's processes.
  void add_session(MPI_Session session);
  /// Before MPI_Finalize and before MPI_Session_finalize: frees the group of the job's processes.
  void let_go();
  /// After MPI_Finalize. The library itself reports later calls.
  void forget_world();

  /// nullptr if the handle is unknown: its messages are not checked then.
  CommPointer find(MPI_Comm handle) const;
  /// Adds a communicator that a call has created. `parent` may be null; `number` is that of the creating
  /// collective on it.
  void add(MPI_Comm made, const Arguments& call, const CommPointer& parent, uint64_t number);
  /// The processes of an open file; `id`: equal on all of them.
  CommPointer add_file(MPI_File file, MPI_Group group, const std::string& name, uint64_t id);
  /// Call before it is freed: another thread may get the same handle at once.
  CommPointer take_out(MPI_Comm handle);
  /// Undoes take_out(): the call failed.
  void put_back(const CommPointer& comm);
  void note_freed(const Comm& comm);
  void rename(MPI_Comm handle);
  /// Counts a collective and returns its number.
  uint64_t count_collective(Comm& comm, Call function, uint32_t site);

 private:
  std::vector<uint32_t> processes_of(MPI_Group group) const;
  bool read_groups(MPI_Comm handle, Comm& comm) const;
  void put_on_board(Comm& comm);

  Report& report_;
  MPI_Group job_ = MPI_GROUP_NULL;
  bool several_threads_ = false;
  std::unordered_map<MPI_Comm, CommPointer> known_;
  std::map<uint64_t, uint64_t> made_of_groups_;
};

/// "rank 3 of MPI_COMM_WORLD"; "rank 3 (5 of the job)" if the numbers differ.
std::string rank_words(const Comm& comm, int64_t peer);

}  // namespace hearth::check
