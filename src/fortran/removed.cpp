// The routines that MPI 3.0 removed, which programs built for MPICH may call (MPI 5.0 chapter 17). Addresses
// and displacements are default INTEGERs: a value that is too large is truncated and ierror is MPI_ERR_ARG.
// The error handler is not called, because differences of truncated addresses are still right.
#include "fortran/by_hand.h"

using namespace hearth::fortran;

namespace {

int cut(int code, MPI_Aint value, int* result) {
  if (code != MPI_SUCCESS) return code;
  *result = static_cast<int>(value);
  return *result == value ? MPI_SUCCESS : MPI_ERR_ARG;
}

/// Displacements in bytes, in the form of the functions that replaced the removed ones.
class Displacements {
 public:
  Displacements(const int* user, int count) : wide_(count) {
    for (int i = 0; wide_.get() != nullptr && i < count; ++i) wide_.get()[i] = user[i];
  }
  MPI_Aint* get() { return wide_.get(); }

 private:
  Scratch<MPI_Aint> wide_;
};

}  // namespace

extern "C" {

#define HEARTH_FORTRAN_REMOVED(name, NAME, parameters)       \
  HEARTH_FORTRAN void mpi_##name##_ parameters;              \
  HEARTH_FORTRAN_NAMES("mpi_" #name, "MPI_" #NAME);          \
  HEARTH_FORTRAN_ALIAS("pmpi_" #name "_", "mpi_" #name "_"); \
  HEARTH_FORTRAN_NAMES("pmpi_" #name, "PMPI_" #NAME);        \
  void mpi_##name##_ parameters

HEARTH_FORTRAN_REMOVED(address, ADDRESS, (const void* location, int* address, int* ierror)) {
  MPI_Aint value = 0;
  const int code = MPI_Get_address(buffer_in(location), &value);
  leave(ierror, cut(code, value, address));
}

HEARTH_FORTRAN_REMOVED(type_extent, TYPE_EXTENT, (const int* datatype, int* extent, int* ierror)) {
  MPI_Aint lower = 0;
  MPI_Aint value = 0;
  const int code = MPI_Type_get_extent(type_in(*datatype), &lower, &value);
  leave(ierror, cut(code, value, extent));
}

HEARTH_FORTRAN_REMOVED(type_lb, TYPE_LB, (const int* datatype, int* displacement, int* ierror)) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  const int code = MPI_Type_get_extent(type_in(*datatype), &lower, &extent);
  leave(ierror, cut(code, lower, displacement));
}

HEARTH_FORTRAN_REMOVED(type_ub, TYPE_UB, (const int* datatype, int* displacement, int* ierror)) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  const int code = MPI_Type_get_extent(type_in(*datatype), &lower, &extent);
  leave(ierror, cut(code, lower + extent, displacement));
}

HEARTH_FORTRAN_REMOVED(type_hvector, TYPE_HVECTOR,
                       (const int* count, const int* blocklength, const int* stride, const int* oldtype,
                        int* newtype, int* ierror)) {
  Out<type_out> newtype_(newtype);
  leave(ierror, MPI_Type_create_hvector(*count, *blocklength, *stride, type_in(*oldtype), newtype_.get()));
  newtype_.finish();
}

HEARTH_FORTRAN_REMOVED(type_hindexed, TYPE_HINDEXED,
                       (const int* count, const int* blocklengths, const int* displacements,
                        const int* oldtype, int* newtype, int* ierror)) {
  Displacements displacements_(displacements, *count);
  Out<type_out> newtype_(newtype);
  leave(ierror, MPI_Type_create_hindexed(*count, blocklengths, displacements_.get(), type_in(*oldtype),
                                         newtype_.get()));
  newtype_.finish();
}

HEARTH_FORTRAN_REMOVED(type_struct, TYPE_STRUCT,
                       (const int* count, const int* blocklengths, const int* displacements, const int* types,
                        int* newtype, int* ierror)) {
  Displacements displacements_(displacements, *count);
  HandlesIn<type_in> types_(types, *count);
  Out<type_out> newtype_(newtype);
  leave(ierror,
        MPI_Type_create_struct(*count, blocklengths, displacements_.get(), types_.get(), newtype_.get()));
  newtype_.finish();
}

HEARTH_FORTRAN_REMOVED(errhandler_create, ERRHANDLER_CREATE,
                       (Callback * function, int* errhandler, int* ierror)) {
  leave(ierror, by_hand::Comm_create_errhandler(function, errhandler, MPI_Comm_create_errhandler));
}

HEARTH_FORTRAN_REMOVED(errhandler_set, ERRHANDLER_SET,
                       (const int* comm, const int* errhandler, int* ierror)) {
  leave(ierror, MPI_Comm_set_errhandler(comm_in(*comm), errhandler_in(*errhandler)));
}

HEARTH_FORTRAN_REMOVED(errhandler_get, ERRHANDLER_GET, (const int* comm, int* errhandler, int* ierror)) {
  Out<errhandler_out> errhandler_(errhandler);
  leave(ierror, MPI_Comm_get_errhandler(comm_in(*comm), errhandler_.get()));
  errhandler_.finish();
}

}  // extern "C"
