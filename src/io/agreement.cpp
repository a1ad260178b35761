#include "io/agreement.h"

#include <cstdio>

#include "coll/coll.h"
#include "datatype/predefined.h"
#include "mpi.h"
#include "objects/pools.h"

namespace hearth::io {

KeptFailure::KeptFailure(Status status) : status_(status) {
  text_[0] = 0;
  if (!status.ok()) std::snprintf(text_, sizeof text_, "%s", last_failure_text());
}

Status KeptFailure::again() const {
  if (status_.ok()) return {};
  return text_[0] == 0 ? fail_with_code(status_.error_class()) : fail(status_.error_class(), "%s", text_);
}

Status min_and_max(Comm& comm, int64_t& least, int64_t& greatest) {
  if (comm.size == 1) return {};
  // max(-x) is -min(x): one collective. -INT64_MIN does not occur.
  const int64_t own[2] = {-least, greatest};
  int64_t all[2] = {};
  HEARTH_TRY(coll::run<coll::allreduce>(
      comm, own, all, Count{2}, datatype::predefined_type(MPI_INT64_T),
      *static_cast<objects::Op*>(objects::pools.predefined[reinterpret_cast<uintptr_t>(MPI_MAX)])));
  least = -all[0];
  greatest = all[1];
  return {};
}

Status agree(Comm& comm, Status own) {
  int64_t least = own.error_class();
  int64_t greatest = own.error_class();
  const KeptFailure failure(own);
  const Status met = min_and_max(comm, least, greatest);
  if (!own.ok()) return failure.again();
  HEARTH_TRY(met);
  if (greatest == 0) return {};
  return fail(static_cast<int>(greatest), "another process of the file's communicator failed in this call");
}

}  // namespace hearth::io
