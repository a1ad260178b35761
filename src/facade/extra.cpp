// Functions outside of api/functions.txt: removed ones whose arguments differ from those of their
// replacement, statuses in the form of Fortran 2008, queries for devices.
#include "facade_by_hand.h"

using namespace hearth::facade;

extern "C" {

// A removed function is PMPI_X, and MPI_X as its weak alias.
#define HEARTH_EXTRA(name, parameters)                                                                 \
  [[gnu::visibility("default")]] int extra_##name parameters asm("PMPI_" #name);                       \
  [[gnu::weak, gnu::alias("PMPI_" #name), gnu::visibility("default")]] int weak_##name parameters asm( \
      "MPI_" #name);                                                                                   \
  int extra_##name parameters

HEARTH_EXTRA(Type_struct, (int count, const int lengths[], const MPI_Aint displacements[],
                           const Datatype types[], Datatype* newtype)) {
  return by_hand::Type_create_struct(count, lengths, displacements, types, newtype);
}

HEARTH_EXTRA(Type_extent, (Datatype datatype, MPI_Aint* extent)) {
  MPI_Aint lower = 0;
  return code_out(core().Type_get_extent(type_in(datatype), &lower, extent));
}

HEARTH_EXTRA(Type_lb, (Datatype datatype, MPI_Aint* displacement)) {
  MPI_Aint extent = 0;
  return code_out(core().Type_get_extent(type_in(datatype), displacement, &extent));
}

HEARTH_EXTRA(Type_ub, (Datatype datatype, MPI_Aint* displacement)) {
  MPI_Aint extent = 0;
  const int code = core().Type_get_extent(type_in(datatype), displacement, &extent);
  if (code == MPI_SUCCESS) *displacement += extent;
  return code_out(code);
}

// The status of Fortran 2008 has the fields of the status in C.
HEARTH_EXTRA(Status_c2f08, (const Status* from, Status* to)) {
  *to = *from;
  return MPI_SUCCESS;
}
HEARTH_EXTRA(Status_f082c, (const Status* from, Status* to)) {
  *to = *from;
  return MPI_SUCCESS;
}
HEARTH_EXTRA(Status_f082f, (const Status* from, MPI_Fint* to)) {
  return by_hand::Status_c2f(from, to);
}
HEARTH_EXTRA(Status_f2f08, (const MPI_Fint* from, Status* to)) {
  return by_hand::Status_f2c(from, to);
}

// No buffers in the memory of a device.
#define HEARTH_QUERY(name)                                                    \
  [[gnu::visibility("default")]] int query_##name() asm("MPIX_Query_" #name); \
  int query_##name() {                                                        \
    return 0;                                                                 \
  }
HEARTH_QUERY(cuda_support)
HEARTH_QUERY(hip_support)
HEARTH_QUERY(rocm_support)
HEARTH_QUERY(ze_support)

[[gnu::visibility("default")]] int query_devices(int kind, int* is_supported) asm("MPIX_GPU_query_support");
int query_devices(int, int* is_supported) {
  *is_supported = 0;
  return MPI_SUCCESS;
}

}  // extern "C"
