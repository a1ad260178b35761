// Reduction operations (MPI 5.0 section 6.9), predefined and user-defined.
#pragma once

#include "mpi.h"
#include "objects/object.h"

namespace hearth::objects {

enum class OpKind : uint8_t {
  sum,
  min,
  max,
  prod,
  band,
  bor,
  bxor,
  land,
  lor,
  lxor,
  minloc,
  maxloc,
  replace,
  no_op,
  user
};

struct Op : Object {
  OpKind kind = OpKind::user;
  bool commutative = true;
  /// A user operation has exactly one of them: the int form or the MPI_Count form.
  MPI_User_function* function = nullptr;
  MPI_User_function_c* function_c = nullptr;
};

}  // namespace hearth::objects
