// MPI error handlers (MPI 5.0 section 9.3).
#pragma once

#include "mpi.h"
#include "objects/object.h"

namespace hearth::objects {

enum class ErrhandlerKind : uint8_t {
  errors_are_fatal,
  errors_abort,
  errors_return,
  user_comm,
  user_file,
  user_win,
  user_session
};

struct Errhandler : Object {
  ErrhandlerKind kind = ErrhandlerKind::errors_are_fatal;
  /// The user's function; `kind` selects the member.
  union {
    MPI_Comm_errhandler_function* comm_function = nullptr;
    MPI_File_errhandler_function* file_function;
    MPI_Win_errhandler_function* win_function;
    MPI_Session_errhandler_function* session_function;
  };
};

}  // namespace hearth::objects
