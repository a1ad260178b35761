// Open files: the processes of a file are checked like a communicator, on which its collective calls are
// counted and compared (MPI 5.0 chapter 14). Also reports calls that the library refused because they break
// rules of files: files return errors by default, so a program that ignores the codes does not see them.
//
// Under the check library's lock.
#pragma once

#include <unordered_map>

#include "check/communicators.h"
#include "check/operation.h"
#include "check/types.h"

namespace hearth::check {

class Files {
 public:
  Files(Report& report, Communicators& communicators) : report_(report), communicators_(communicators) {}

  static bool is_collective(Call function);
  /// The arguments of a collective call that must be equal on all processes, as one word; 0 for none.
  static uint64_t equal_arguments(const Arguments& call, Types& types);
  /// The two halves of a split collective access.
  static bool begins_split(const Arguments& call);
  static bool ends_split(const Arguments& call);
  /// Fills in the buffer of a data access.
  static void read_access(const Arguments& call, Types& types, Operation& operation);

  /// nullptr if the file is unknown.
  CommPointer find(const Arguments& call) const;
  /// After MPI_File_open, which was collective `number` of `parent`.
  void add(const Arguments& call, const CommPointer& parent, uint64_t number);
  /// Before MPI_File_close, and after one that has left the file open.
  void take_out(const Comm& file);
  void put_back(const CommPointer& file);
  /// After a call that failed with this code.
  void tell_refused(const Arguments& call, int code, uint32_t site);

 private:
  static MPI_File handle_of(const Arguments& call);

  Report& report_;
  Communicators& communicators_;
  std::unordered_map<MPI_File, CommPointer> known_;
};

}  // namespace hearth::check
