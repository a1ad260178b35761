// MPI 5.0 sections 9.1, 9.6 and 5.1.5: versions, the processor's name, the clock, addresses.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/os_machine.h"
#include "base/os_wait.h"
#include "hearth_calls.h"
#include "mpi.h"

namespace hearth::mpi {

Status get_version(int& version, int& subversion) {
  version = MPI_VERSION;
  subversion = MPI_SUBVERSION;
  return {};
}

Status get_library_version(char* version, int& resultlen) {
  // Programs identify libraries by this string, so it must not contain the name of another library.
  resultlen =
      std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Hearth %s (MPI %d.%d, standard ABI %d.%d)",
                    HEARTH_VERSION, MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
  return {};
}

Status get_processor_name(char* name, int& resultlen) {
  const std::string host = os::host_name();
  resultlen = static_cast<int>(std::min<size_t>(host.size(), MPI_MAX_PROCESSOR_NAME - 1));
  std::memcpy(name, host.data(), static_cast<size_t>(resultlen));
  name[resultlen] = 0;
  return {};
}

double wtime() {
  return static_cast<double>(os::now_ns()) * 1e-9;
}

double wtick() {
  return 1e-9;
}

// Addresses are integers relative to MPI_BOTTOM, which is 0.
Status get_address(const void* location, MPI_Aint& address) {
  address = reinterpret_cast<MPI_Aint>(location);
  return {};
}

// Unsigned arithmetic: an address in the upper half must wrap as pointers do.
MPI_Aint aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(base) + static_cast<uintptr_t>(disp));
}

MPI_Aint aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(addr1) - static_cast<uintptr_t>(addr2));
}

// For profiling tools that intercept it; no effect here (MPI 5.0 section 15.2.4).
int pcontrol(int) {
  return MPI_SUCCESS;
}

}  // namespace hearth::mpi
