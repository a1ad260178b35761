// Contents of a status: the length (MPI 5.0 sections 3.2.5 and 5.1.11), and whether it was cancelled (section
// 3.8.4).
#include "abi/status.h"
#include "datatype/signature.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

Status get_count(const MPI_Status& status, datatype::Type& datatype, Count& count) {
  const int64_t bytes = abi::status_bytes(status);
  if (datatype.size == 0) {
    count = bytes == 0 ? 0 : MPI_UNDEFINED;
  } else {
    count = bytes % datatype.size == 0 ? bytes / datatype.size : MPI_UNDEFINED;
  }
  return {};
}

Status get_elements(const MPI_Status& status, datatype::Type& datatype, Count& count) {
  const int64_t bytes = abi::status_bytes(status);
  if (datatype.size == 0) {
    count = bytes == 0 ? 0 : MPI_UNDEFINED;
  } else if (!datatype::basics_in_bytes(datatype, bytes, count)) {
    count = MPI_UNDEFINED;
  }
  return {};
}

Status status_set_elements(MPI_Status& status, datatype::Type& datatype, Count count) {
  int64_t bytes = 0;
  if (datatype.size > 0 && !datatype::bytes_of_basics(datatype, count, bytes)) {
    return fail(MPI_ERR_COUNT, "%lld basic elements of the datatype have more bytes than 64 bits can hold",
                static_cast<long long>(count));
  }
  abi::set_status_bytes(status, bytes);
  return {};
}

Status test_cancelled(const MPI_Status& status, int& flag) {
  flag = abi::status_cancelled(status);
  return {};
}

}  // namespace hearth::mpi
