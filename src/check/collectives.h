// Checks of collectives: each rank publishes its call on the board before it begins, and compares it with the
// calls that other ranks have published (MPI 5.0 sections 6.1 and 6.14: the same order, roots, operations and
// amounts).
//
// No rank waits for these checks: of two ranks, the later one sees the record of the earlier one.
#pragma once

#include "check/communicators.h"
#include "check/types.h"

namespace hearth::check {

/// The direction of a collective's data, which determines the arguments that must agree.
enum class Flow { none, all_alike, from_root, to_root, to_all };
Flow flow_of(const char* name);
/// "alltoallv" of "MPI_Ialltoallv_init_c"; for other functions, a name that is no such stem.
std::string stem_of(const std::string& name);

class Collectives {
 public:
  Collectives(Report& report, Communicators& communicators, Types& types)
      : report_(report), communicators_(communicators), types_(types) {}

  /// Whether a call is a collective on its communicator; depends on its arguments.
  static bool is_collective(const Arguments& call);
  /// Before the call. Returns its number among the collectives of the communicator.
  uint64_t begin(const Arguments& call, Comm& comm, uint32_t site);

 private:
  struct Described;
  Described describe(const Arguments& call, const Comm& comm);
  shm::SignatureWords signature(uint64_t type, int64_t count);
  void publish(Described& described);
  bool read(uint32_t process, const Comm& comm, uint64_t number, shm::CollectiveRecord& record) const;
  shm::SignatureWords towards(uint32_t process, const shm::CollectiveRecord& record, bool sends,
                              int peer) const;
  std::string compare(const Comm& comm, const shm::CollectiveRecord& mine, uint32_t process,
                      const shm::CollectiveRecord& other) const;
  void tell(const Comm& comm, const shm::CollectiveRecord& mine, const std::string& difference);
  std::string words(const shm::CollectiveRecord& record) const;

  Report& report_;
  Communicators& communicators_;
  Types& types_;
};

}  // namespace hearth::check
