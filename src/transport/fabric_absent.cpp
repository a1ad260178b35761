// Replaces the fabric transport in builds without libfabric's headers.
#include "mpi.h"
#include "transport/fabric.h"

namespace hearth::transport {

Status open_fabric(const NetworkSetup&, std::unique_ptr<Network>&) {
  return fail(
      MPI_ERR_OTHER,
      "ranks of this job are on several machines, and this build of Hearth has no network: libfabric's "
      "headers were missing when it was made. Remedy: install them (Debian: libfabric-dev) and build "
      "again, or ask the launcher for one machine");
}

Status probe_fabric(NetworkOffer&) {
  return fail(
      MPI_ERR_OTHER,
      "this build of Hearth has no network: libfabric's headers were missing when it was made. Remedy: "
      "install them (Debian: libfabric-dev) and build again");
}

}  // namespace hearth::transport
