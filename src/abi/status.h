// The contents of MPI_Status beyond its three public members. The struct has the alignment of int, so 64-bit
// values are copied by memcpy.
//
//   MPI_internal[0..1] bytes received    [2] 1 when cancelled    [3..4] unused
#pragma once

#include <cstdint>
#include <cstring>

#include "mpi.h"

namespace hearth::abi {

inline void set_status_bytes(MPI_Status& status, int64_t bytes) {
  std::memcpy(status.MPI_internal, &bytes, sizeof bytes);
}
inline int64_t status_bytes(const MPI_Status& status) {
  int64_t bytes;
  std::memcpy(&bytes, status.MPI_internal, sizeof bytes);
  return bytes;
}
inline void set_status_cancelled(MPI_Status& status, bool cancelled) {
  status.MPI_internal[2] = cancelled;
}
inline bool status_cancelled(const MPI_Status& status) {
  return status.MPI_internal[2] != 0;
}

/// Fills all but MPI_ERROR, which only calls that return several statuses may touch (MPI 5.0 section 3.2.5).
/// nullptr is MPI_STATUS_IGNORE.
inline void set_status(MPI_Status* status, int source, int tag, int64_t bytes, bool cancelled = false) {
  if (status == nullptr) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  set_status_bytes(*status, bytes);
  set_status_cancelled(*status, cancelled);
}
/// The same with MPI_ERROR.
inline void set_status(MPI_Status* status, int source, int tag, int error, int64_t bytes, bool cancelled) {
  if (status == nullptr) return;
  status->MPI_ERROR = error;
  set_status(status, source, tag, bytes, cancelled);
}
/// The status of a null or inactive request (MPI 5.0 section 3.7.3). MPI_ERROR is MPI_SUCCESS.
inline void set_empty_status(MPI_Status* status) {
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, 0, false);
}

}  // namespace hearth::abi
