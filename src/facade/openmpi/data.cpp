// The data objects of Open MPI's ABI, whose addresses are the predefined handles, and its predefined
// functions.
//
// Only the address and the size of an object count: an executable that is not position-independent has a copy
// of the object, made by the dynamic linker, and the size must be that which the executable was linked with.
// Sizes are those of Open MPI's library, which are constant within its ABI.
#include "facade/convert.h"

namespace hearth::facade {

constinit Constants constants{};
constinit FortranNumbers fortran_numbers{};

namespace {

constexpr size_t kBytesComm = 512, kBytesDatatype = 512, kBytesErrhandler = 1024, kBytesFile = 1536,
                 kBytesGroup = 256, kBytesInfo = 256, kBytesMessage = 256, kBytesOp = 2048,
                 kBytesRequest = 256, kBytesSession = 512, kBytesWin = 512;

}  // namespace

extern "C" {

#define HEARTH_PREDEFINED(type, here, there) \
  [[gnu::visibility("default")]] alignas(256) char there[kBytes##type] = {};
#include "facade_openmpi.inc"
#undef HEARTH_PREDEFINED
alignas(256) char ompi_mpi_lb[kBytesDatatype] = {};
alignas(256) char ompi_mpi_ub[kBytesDatatype] = {};
// Types that only Open MPI has. A program that refers to them can be loaded; using the first two is an error.
[[gnu::visibility("default")]] alignas(256) char ompi_mpi_2cplex[kBytesDatatype] = {};
[[gnu::visibility("default")]] alignas(256) char ompi_mpi_2dblcplex[kBytesDatatype] = {};
[[gnu::visibility("default")]] alignas(256) char ompi_mpi_short_float[kBytesDatatype] = {};
[[gnu::visibility("default")]] alignas(256) char ompi_mpi_c_short_float_complex[kBytesDatatype] = {};

[[gnu::visibility("default")]] MPI_Fint* status_ignored_in_fortran asm("MPI_F_STATUS_IGNORE") = nullptr;
[[gnu::visibility("default")]] MPI_Fint* statuses_ignored_in_fortran asm("MPI_F_STATUSES_IGNORE") = nullptr;

#define HEARTH_COPY_FUNCTION(name, is_copied)                                                         \
  [[gnu::visibility("default")]] int copy_##name(void*, int, void*, void*, void*,                     \
                                                 int*) asm("OMPI_C_MPI_" #name);                      \
  int copy_##name(void*, int, void*, [[maybe_unused]] void* value, [[maybe_unused]] void* value_copy, \
                  int* flag) {                                                                        \
    if (is_copied) *static_cast<void**>(value_copy) = value;                                          \
    *flag = is_copied;                                                                                \
    return MPI_SUCCESS;                                                                               \
  }
#define HEARTH_DELETE_FUNCTION(name)                                                                   \
  [[gnu::visibility("default")]] int delete_##name(void*, int, void*, void*) asm("OMPI_C_MPI_" #name); \
  int delete_##name(void*, int, void*, void*) {                                                        \
    return MPI_SUCCESS;                                                                                \
  }
HEARTH_COPY_FUNCTION(NULL_COPY_FN, 0)
HEARTH_COPY_FUNCTION(COMM_NULL_COPY_FN, 0)
HEARTH_COPY_FUNCTION(TYPE_NULL_COPY_FN, 0)
HEARTH_COPY_FUNCTION(WIN_NULL_COPY_FN, 0)
HEARTH_COPY_FUNCTION(DUP_FN, 1)
HEARTH_COPY_FUNCTION(COMM_DUP_FN, 1)
HEARTH_COPY_FUNCTION(TYPE_DUP_FN, 1)
HEARTH_COPY_FUNCTION(WIN_DUP_FN, 1)
HEARTH_DELETE_FUNCTION(NULL_DELETE_FN)
HEARTH_DELETE_FUNCTION(COMM_NULL_DELETE_FN)
HEARTH_DELETE_FUNCTION(TYPE_NULL_DELETE_FN)
HEARTH_DELETE_FUNCTION(WIN_NULL_DELETE_FN)

}  // extern "C"

namespace {

template <class Function>
const void* address_of(Function& function) {
  return reinterpret_cast<const void*>(&function);
}

uint16_t value_of(MPI_Datatype constant) {
  return static_cast<uint16_t>(reinterpret_cast<uintptr_t>(constant));
}

// MPI_LB and MPI_UB, which the standard ABI lacks: no handle of it has these values.
constexpr uint16_t kLowerBound = 1;
constexpr uint16_t kUpperBound = 2;

void enter_fortran_numbers() {
#define HEARTH_KIND_Comm comm
#define HEARTH_KIND_Datatype type
#define HEARTH_KIND_Errhandler errhandler
#define HEARTH_KIND_Group group
#define HEARTH_KIND_Info info
#define HEARTH_KIND_Message message
#define HEARTH_KIND_Op op
#define HEARTH_KIND_Request request
#define HEARTH_KIND_Session session
#define HEARTH_KIND_Win win
#define HEARTH_ENTER(kind, here, number) fortran_numbers.enter(PoolKind::kind, here, number);
#define HEARTH_FORTRAN_NUMBER(type, here, number) HEARTH_ENTER(HEARTH_KIND_##type, here, number)
#include "facade_openmpi.inc"
#undef HEARTH_FORTRAN_NUMBER
  fortran_numbers.enter(PoolKind::type, value_of(MPI_REAL2), 28);
  fortran_numbers.enter(PoolKind::type, kLowerBound, 4);
  fortran_numbers.enter(PoolKind::type, kUpperBound, 3);
}

// Runs when the facade is loaded, after relocation: the addresses are those that the executable uses.
[[gnu::constructor]] void enter_constants() {
#define HEARTH_PREDEFINED(type, here, there) constants.enter(here, there);
#include "facade_openmpi.inc"
#undef HEARTH_PREDEFINED
  // The standard ABI has these types for Fortran only.
  constants.enter(value_of(MPI_REAL2), ompi_mpi_short_float);
  constants.enter(value_of(MPI_COMPLEX4), ompi_mpi_c_short_float_complex);
  constants.enter(kLowerBound, ompi_mpi_lb);
  constants.enter(kUpperBound, ompi_mpi_ub);
  enter_fortran_numbers();
}

}  // namespace

intptr_t constant_of_function(const void* function) {
  const void* const nothing[] = {nullptr,
                                 address_of(copy_NULL_COPY_FN),
                                 address_of(copy_COMM_NULL_COPY_FN),
                                 address_of(copy_TYPE_NULL_COPY_FN),
                                 address_of(copy_WIN_NULL_COPY_FN),
                                 address_of(delete_NULL_DELETE_FN),
                                 address_of(delete_COMM_NULL_DELETE_FN),
                                 address_of(delete_TYPE_NULL_DELETE_FN),
                                 address_of(delete_WIN_NULL_DELETE_FN)};
  const void* const copies[] = {address_of(copy_DUP_FN), address_of(copy_COMM_DUP_FN),
                                address_of(copy_TYPE_DUP_FN), address_of(copy_WIN_DUP_FN)};
  for (const void* each : nothing) {
    if (each == function) return 0;
  }
  for (const void* each : copies) {
    if (each == function) return 1;
  }
  return -1;
}

}  // namespace hearth::facade
