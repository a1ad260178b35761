// The data objects of MPICH's ABI, and the function behind MPI_COMM_DUP_FN.
#include "facade/convert.h"

namespace hearth::facade {
namespace {

// Only the addresses are used.
int unweighted, weights_empty_object, all_variables_object;

}  // namespace

extern "C" {

int* const weights_unweighted = &unweighted;
int* const weights_empty = &weights_empty_object;
MPI_T_pvar_handle const all_variables = reinterpret_cast<MPI_T_pvar_handle>(&all_variables_object);

// libmpifort sets them to the addresses of Fortran's variables.
[[gnu::visibility("default")]] MPI_Fint* status_ignored_in_fortran asm("MPI_F_STATUS_IGNORE") = nullptr;
[[gnu::visibility("default")]] MPI_Fint* statuses_ignored_in_fortran asm("MPI_F_STATUSES_IGNORE") = nullptr;

int duplicate_attribute(int, int, void*, void* value, void* value_copy, int* flag) {
  *static_cast<void**>(value_copy) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

}  // extern "C"
}  // namespace hearth::facade
