// MPI 5.0 section 6.9: reduction operations.
#include "hearth_calls.h"
#include "mpi.h"
#include "objects/lifetime.h"
#include "objects/pools.h"

namespace hearth::mpi {
namespace {

using objects::Op;

Status make_op(bool function_given, int commute, Op*& op) {
  if (!function_given) return fail(MPI_ERR_ARG, "user_fn is a null pointer");
  op = objects::pools.ops.create();
  if (op == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for another operation");
  op->kind = objects::OpKind::user;
  op->commutative = commute != 0;
  return {};
}

}  // namespace

Status op_create(MPI_User_function* user_fn, int commute, Op*& op) {
  HEARTH_TRY(make_op(user_fn != nullptr, commute, op));
  op->function = user_fn;
  return {};
}

Status op_create_c(MPI_User_function_c* user_fn, int commute, Op*& op) {
  HEARTH_TRY(make_op(user_fn != nullptr, commute, op));
  op->function_c = user_fn;
  return {};
}

Status op_free(Op*& op) {
  if (op->predefined != 0) return fail(MPI_ERR_OP, "a predefined operation cannot be freed");
  objects::free_handle(*op);
  op = nullptr;
  return {};
}

Status op_commutative(Op& op, int& commute) {
  commute = op.commutative;
  return {};
}

}  // namespace hearth::mpi
