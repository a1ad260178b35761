// MPI 5.0 sections 3.2.5 and 13.3: access to the fields of a status, for languages that cannot name them and
// for libraries that make requests of their own.
#include "abi/status.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

Status status_get_error(const MPI_Status& status, int& error) {
  error = status.MPI_ERROR;
  return {};
}

Status status_get_source(const MPI_Status& status, int& source) {
  source = status.MPI_SOURCE;
  return {};
}

Status status_get_tag(const MPI_Status& status, int& tag) {
  tag = status.MPI_TAG;
  return {};
}

Status status_set_error(MPI_Status& status, int error) {
  status.MPI_ERROR = error;
  return {};
}

Status status_set_source(MPI_Status& status, int source) {
  status.MPI_SOURCE = source;
  return {};
}

Status status_set_tag(MPI_Status& status, int tag) {
  status.MPI_TAG = tag;
  return {};
}

Status status_set_cancelled(MPI_Status& status, int flag) {
  abi::set_status_cancelled(status, flag != 0);
  return {};
}

}  // namespace hearth::mpi
