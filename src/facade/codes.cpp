// Error codes of a facade.
//
//   standard ABI      facade
//   0 .. 1018         classes: by the table of the facade's ABI
//   2047 .. 16382     codes of the library: unchanged, since no ABI has classes in this range
//   16383             MPI_ERR_LASTCODE: that of the facade
//   16384 ..          classes and codes of the user: above the facade's MPI_ERR_LASTCODE, except 2047 to
//                     16383
#include "facade/convert.h"

namespace hearth::facade {
namespace {

constexpr int kFirstLibraryCode = 2047;
constexpr int kLibraryCodes = kLastLibraryCode - kFirstLibraryCode + 1;

bool is_library_code(int code) {
  return code >= kFirstLibraryCode && code < kLastLibraryCode;
}

}  // namespace

int error_in(int there) {
  if (is_library_code(there)) return there;
  if (there < kErrLastcode) return value_in(kError, there);
  const bool above = kErrLastcode < kFirstLibraryCode && there > kLastLibraryCode;
  return kLastLibraryCode + (there - kErrLastcode) - (above ? kLibraryCodes : 0);
}

int error_out(int here) {
  if (is_library_code(here)) return here;
  if (here >= kLastLibraryCode) {
    const int there = kErrLastcode + (here - kLastLibraryCode);
    return kErrLastcode < kFirstLibraryCode && there >= kFirstLibraryCode ? there + kLibraryCodes : there;
  }
  for (const Pair& pair : kError) {
    if (pair.here == here) return pair.there;
  }
  // An older library reports an invalid error handler as an invalid argument.
  if (here == MPI_ERR_ERRHANDLER) return kErrArg;
  const bool is_class = here <= MPI_ERR_ABI || (here >= MPIX_ERR_PROC_FAILED && here <= MPIX_ERR_REVOKED) ||
                        (here >= MPI_T_ERR_CANNOT_INIT && here <= MPI_T_ERR_PVAR_NO_ATOMIC);
  return here > 0 && is_class ? kErrOther : here;  // a class that the facade's ABI lacks
}

void spawn_codes_out(int* codes, MPI_Comm intercomm, int code) {
  int processes = 0;
  if (codes == nullptr || code != MPI_SUCCESS) return;
  if (core().Comm_remote_size(intercomm, &processes) == MPI_SUCCESS) {
    convert_in_place<error_out>(codes, processes, code);
  }
}

}  // namespace hearth::facade
