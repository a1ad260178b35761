// The communicators of a process, by handle: who is in them, in numbers of the job, and a number of each that
// all its members agree on without a message. It follows from the parent's and from how many collectives came
// before, which MPI has all members call in the same order; where there is no parent, from the group.
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

/// Messages of one sender or to one receiver with one tag.
struct Stream {
  uint64_t number = 0;     // of the last message
  int at_once = 0;         // threads that are in a send of it
  bool unordered = false;  // they were several: numbers are not sure
};
using StreamKey = std::pair<uint32_t, int>;  // process and tag

struct Comm {
  MPI_Comm handle = MPI_COMM_NULL;
  uint64_t id = 0;
  int rank = 0;
  bool inter = false;
  std::vector<uint32_t> members;  // of the own group
  std::vector<uint32_t> peers;    // whom messages go to and come from: of the other group, or the same
  uint64_t collectives = 0;
  uint32_t place = UINT32_MAX;  // on the board
  std::string name;

  std::map<StreamKey, Stream> sent;
  std::map<StreamKey, uint64_t> received;
  std::deque<std::shared_ptr<Posted>> posted;  // receives whose message has no number yet, oldest first
  int receiving = 0;                           // threads in a call that posts one
  bool receives_unordered = false;

  /// The number in the job of a rank; UINT32_MAX where there is none.
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
  /// Threads may make communicators at the same time: of two of MPI_Intercomm_create ranks might not agree on
  /// which is which, and so nothing is said about those.
  void expect_threads() { several_threads_ = true; }
  /// After MPI_Session_init: the job's processes are known from its process set.
  void add_session(MPI_Session session);
  /// Before MPI_Finalize and before MPI_Session_finalize: lets the group of the job's processes go.
  void let_go();
  /// After MPI_Finalize: whoever calls all the same is told so by the library.
  void forget_world();

  /// nullptr where the handle is not known: then nothing is said about its messages.
  CommPointer find(MPI_Comm handle) const;
  /// A communicator that a call has made, from `parent` if it has one, as its collective number `number`.
  void add(MPI_Comm made, const Arguments& call, const CommPointer& parent, uint64_t number);
  /// Before it is freed: the handle may mean another one as soon as it is.
  CommPointer take_out(MPI_Comm handle);
  /// It was not freed.
  void put_back(const CommPointer& comm);
  void note_freed(const Comm& comm);
  void rename(MPI_Comm handle);
  /// Counts a collective; its number.
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

/// "rank 3 of MPI_COMM_WORLD", where the numbers differ "rank 3 (5 of the job)".
std::string rank_words(const Comm& comm, int64_t peer);

}  // namespace hearth::check
