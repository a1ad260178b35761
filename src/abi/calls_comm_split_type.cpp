// MPI 5.0 section 7.4.2: dividing a communicator by what its processes share.
#include <algorithm>

#include "hearth_calls.h"
#include "mpi.h"
#include "objects/comm.h"

namespace hearth::mpi {

using objects::Comm;
using objects::Info;

Status comm_split_type(Comm& comm, int split_type, int key, Info* info, Comm*& newcomm) {
  constexpr int kNobody = MPI_UNDEFINED;
  constexpr int kEverybody = 0;
  int color = kNobody;
  Status status;
  switch (split_type) {
    case MPI_UNDEFINED:
      break;
    // All ranks run on one machine.
    case MPI_COMM_TYPE_SHARED:
      color = kEverybody;
      break;
    // By a resource that the info names. Shared memory is the one known here; others give MPI_COMM_NULL, as
    // does a division into smaller parts than the machine (MPI 5.0 section 7.4.2).
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      if (info != nullptr) {
        const bool shared = std::any_of(info->entries.begin(), info->entries.end(), [](const auto& entry) {
          return entry.first == "mpi_hw_resource_type" && entry.second == "mpi_shared_memory";
        });
        if (shared) color = kEverybody;
      }
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      break;
    default:
      status = fail(MPI_ERR_ARG,
                    "split_type=%d is none of MPI_COMM_TYPE_SHARED, _HW_GUIDED, _HW_UNGUIDED, "
                    "_RESOURCE_GUIDED, MPI_UNDEFINED",
                    split_type);
  }
  HEARTH_TRY(comm_split(comm, color, key, newcomm));
  return status;
}

}  // namespace hearth::mpi
