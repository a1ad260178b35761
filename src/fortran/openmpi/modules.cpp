// Procedures and constants of Open MPI's modules mpi and mpi_f08, under the names that GNU Fortran gives
// them.
#include "fortran/convert.h"
#include "fortran/handle_comparison.h"

using namespace hearth::fortran;

extern "C" {

// Module mpi_f08_types: the operators of handles.
#define HEARTH_FORTRAN_OPERATORS(type)                                                \
  HEARTH_FORTRAN_ALIAS("__mpi_f08_types_MOD_ompi_" #type "_op_eq", "mpi_handle_eq_"); \
  HEARTH_FORTRAN_ALIAS("__mpi_f08_types_MOD_ompi_" #type "_op_ne", "mpi_handle_ne_");
HEARTH_FORTRAN_COMPARED_HANDLES(HEARTH_FORTRAN_OPERATORS)

// The predefined handles of the same module: constants with an address, and variables in older programs.
#define HEARTH_FORTRAN_INTEGER(cpp_name, name, number) \
  HEARTH_FORTRAN extern const int cpp_name asm(name);  \
  const int cpp_name = number;
#define HEARTH_FORTRAN_CONSTANT(name, number)                                   \
  HEARTH_FORTRAN_INTEGER(constant_##name, "__mpi_f08_types_MOD_" #name, number) \
  HEARTH_FORTRAN_INTEGER(variable_##name, "ompi_f08_" #name, number)
#include "facade_openmpi.inc"
// Those that only Open MPI has.
HEARTH_FORTRAN_CONSTANT(mpi_2complex, 26)
HEARTH_FORTRAN_CONSTANT(mpi_2double_complex, 27)
HEARTH_FORTRAN_CONSTANT(mpi_cxx_complex, 55)
HEARTH_FORTRAN_CONSTANT(mpi_integer16, 12)
HEARTH_FORTRAN_CONSTANT(mpi_lb, 4)
HEARTH_FORTRAN_CONSTANT(mpi_real2, 28)
HEARTH_FORTRAN_CONSTANT(mpi_ub, 3)
// The names of these variables end without "_t".
HEARTH_FORTRAN_INTEGER(variable_int8, "ompi_f08_mpi_int8", 58)
HEARTH_FORTRAN_INTEGER(variable_uint8, "ompi_f08_mpi_uint8", 59)
HEARTH_FORTRAN_INTEGER(variable_int16, "ompi_f08_mpi_int16", 60)
HEARTH_FORTRAN_INTEGER(variable_uint16, "ompi_f08_mpi_uint16", 61)
HEARTH_FORTRAN_INTEGER(variable_int32, "ompi_f08_mpi_int32", 62)
HEARTH_FORTRAN_INTEGER(variable_uint32, "ompi_f08_mpi_uint32", 63)
HEARTH_FORTRAN_INTEGER(variable_int64, "ompi_f08_mpi_int64", 64)
HEARTH_FORTRAN_INTEGER(variable_uint64, "ompi_f08_mpi_uint64", 65)

HEARTH_FORTRAN_ALIAS("mpi_f_sync_reg_f08_", "mpi_f_sync_reg_");
HEARTH_FORTRAN_ALIAS("pmpi_f_sync_reg_f08_", "mpi_f_sync_reg_");

// MPI_Sizeof of a scalar and of an array of each rank, in both modules.
#define HEARTH_FORTRAN_SIZEOF_NAME(type, rank)                                             \
  HEARTH_FORTRAN_ALIAS("mpi_sizeof_" #type "_" #rank "_", "mpi_sizeof_" #type "_scalar_"); \
  HEARTH_FORTRAN_ALIAS("pmpi_sizeof_" #type "_" #rank "_", "mpi_sizeof_" #type "_scalar_");
#define HEARTH_FORTRAN_SIZEOF(type, bytes)                                               \
  HEARTH_FORTRAN void mpi_sizeof_##type##_scalar_(const void*, int* size, int* ierror) { \
    *size = bytes;                                                                       \
    leave(ierror, MPI_SUCCESS);                                                          \
  }                                                                                      \
  HEARTH_FORTRAN_ALIAS("pmpi_sizeof_" #type "_scalar_", "mpi_sizeof_" #type "_scalar_"); \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r1)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r2)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r3)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r4)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r5)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r6)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r7)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r8)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r9)                                                   \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r10)                                                  \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r11)                                                  \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r12)                                                  \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r13)                                                  \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r14)                                                  \
  HEARTH_FORTRAN_SIZEOF_NAME(type, r15)
HEARTH_FORTRAN_SIZEOF(character, 1)
HEARTH_FORTRAN_SIZEOF(logical, 4)
HEARTH_FORTRAN_SIZEOF(int8, 1)
HEARTH_FORTRAN_SIZEOF(int16, 2)
HEARTH_FORTRAN_SIZEOF(int32, 4)
HEARTH_FORTRAN_SIZEOF(int64, 8)
HEARTH_FORTRAN_SIZEOF(real32, 4)
HEARTH_FORTRAN_SIZEOF(real64, 8)
HEARTH_FORTRAN_SIZEOF(real128, 16)
HEARTH_FORTRAN_SIZEOF(complex32, 8)
HEARTH_FORTRAN_SIZEOF(complex64, 16)
HEARTH_FORTRAN_SIZEOF(complex128, 32)

// Functions of C that take a status of Fortran compare it with these addresses.
[[gnu::constructor]] static void publish_addresses() {
  MPI_F_STATUS_IGNORE = const_cast<int*>(mpi_fortran_status_ignore_);
  MPI_F_STATUSES_IGNORE = const_cast<int*>(mpi_fortran_statuses_ignore_);
}

}  // extern "C"
