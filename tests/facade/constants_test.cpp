// Every constant of a facade's ABI converts to the standard ABI and back.
#include <gtest/gtest.h>

#include "facade/convert.h"

namespace hearth::facade {
namespace {

TEST(Constants, ConvertInBothDirections) {
  int checked = 0;
#define HEARTH_SET(name, pairs)                            \
  for (const Pair& pair : pairs) {                         \
    EXPECT_EQ(name##_in(pair.there), pair.here) << #name;  \
    EXPECT_EQ(name##_out(pair.here), pair.there) << #name; \
    ++checked;                                             \
  }
#if HEARTH_FACADE_OPENMPI
#include "facade_openmpi.inc"
#else
#include "facade_mpich.inc"
#endif
#undef HEARTH_SET
  EXPECT_GT(checked, 180);
}

/// A handle of the facade's ABI, from the word in the table.
template <class There>
There handle_of(intptr_t word) {
  if constexpr (std::is_pointer_v<There>) {
    return reinterpret_cast<There>(word);
  } else {
    return static_cast<There>(word);
  }
}

template <auto in, auto out>
void expect_handle(intptr_t word, uintptr_t here) {
  using There = ArgumentOf<in>;
  using Here = ResultOf<in>;
  const auto there = handle_of<There>(word);
  EXPECT_EQ(in(there), reinterpret_cast<Here>(here));
  EXPECT_EQ(out(reinterpret_cast<Here>(here)), there);
}

TEST(Constants, PredefinedHandlesConvertInBothDirections) {
  int checked = 0;
#define HEARTH_IN_Comm comm_in, comm_out
#define HEARTH_IN_Datatype type_in, type_out
#define HEARTH_IN_Errhandler errhandler_in, errhandler_out
#define HEARTH_IN_File file_in, file_out
#define HEARTH_IN_Group group_in, group_out
#define HEARTH_IN_Info info_in, info_out
#define HEARTH_IN_Message message_in, message_out
#define HEARTH_IN_Op op_in, op_out
#define HEARTH_IN_Request request_in, request_out
#define HEARTH_IN_Session session_in, session_out
#define HEARTH_IN_Win win_in, win_out
#if HEARTH_FACADE_OPENMPI
#define HEARTH_PREDEFINED(type, here, symbol) \
  expect_handle<HEARTH_IN_##type>(reinterpret_cast<intptr_t>(constants.there(here)), here), ++checked;
#include "facade_openmpi.inc"
#else
#define HEARTH_PREDEFINED(type, here, there) \
  expect_handle<HEARTH_IN_##type>(intptr_t{there}, here), ++checked;
#include "facade_mpich.inc"
#endif
#undef HEARTH_PREDEFINED
  EXPECT_GT(checked, 95);
}

#if HEARTH_FACADE_OPENMPI
extern "C" char ompi_mpi_short_float[], ompi_mpi_c_short_float_complex[];

TEST(Constants, HalfPrecisionHasTypesOfFortran) {
  EXPECT_EQ(type_in(reinterpret_cast<Datatype>(ompi_mpi_short_float)), MPI_REAL2);
  EXPECT_EQ(type_in(reinterpret_cast<Datatype>(ompi_mpi_c_short_float_complex)), MPI_COMPLEX4);
  EXPECT_EQ(type_out(MPI_REAL2), reinterpret_cast<Datatype>(ompi_mpi_short_float));
}

template <auto out, auto number_of, auto of_number>
void expect_number(uintptr_t here, int number) {
  const auto there = out(reinterpret_cast<ArgumentOf<out>>(here));
  EXPECT_EQ(number_of(there), number);
  EXPECT_EQ(of_number(number), there);
}

TEST(Constants, PredefinedHandlesHaveSmallNumbersInFortran) {
  EXPECT_EQ(comm_number(comm_out(MPI_COMM_WORLD)), 0);
  EXPECT_EQ(comm_of_number(2), comm_out(MPI_COMM_NULL));
  EXPECT_EQ(type_number(type_out(MPI_COUNT)), 72);
  EXPECT_EQ(type_of_number(7), type_out(MPI_INTEGER));
  EXPECT_EQ(file_number(file_out(MPI_FILE_NULL)), 0);
  int checked = 0;
#define HEARTH_NUMBERS(name) expect_number<name##_out, name##_number, name##_of_number>
#define HEARTH_NUMBERS_Comm HEARTH_NUMBERS(comm)
#define HEARTH_NUMBERS_Datatype HEARTH_NUMBERS(type)
#define HEARTH_NUMBERS_Errhandler HEARTH_NUMBERS(errhandler)
#define HEARTH_NUMBERS_Group HEARTH_NUMBERS(group)
#define HEARTH_NUMBERS_Info HEARTH_NUMBERS(info)
#define HEARTH_NUMBERS_Message HEARTH_NUMBERS(message)
#define HEARTH_NUMBERS_Op HEARTH_NUMBERS(op)
#define HEARTH_NUMBERS_Request HEARTH_NUMBERS(request)
#define HEARTH_NUMBERS_Session HEARTH_NUMBERS(session)
#define HEARTH_NUMBERS_Win HEARTH_NUMBERS(win)
#define HEARTH_FORTRAN_NUMBER(type, here, number) HEARTH_NUMBERS_##type(here, number), ++checked;
#include "facade_openmpi.inc"
#undef HEARTH_FORTRAN_NUMBER
  EXPECT_GT(checked, 90);
}

TEST(Constants, MarkersOfBoundsHaveNumbersInFortran) {
  EXPECT_EQ(type_number(lower_bound_type()), 4);
  EXPECT_EQ(type_of_number(4), lower_bound_type());
  EXPECT_EQ(type_of_number(3), upper_bound_type());
}
#endif

TEST(Constants, NumbersWithAnotherMeaningAreInvalid) {
  // MPI_ROOT and MPI_ANY_TAG of the standard ABI, which the facade's ABI does not use for ranks and tags.
  EXPECT_NE(tag_in(MPI_ANY_TAG), MPI_ANY_TAG);
  EXPECT_NE(lock_type_in(MPI_LOCK_SHARED), MPI_LOCK_SHARED);
  EXPECT_NE(comparison_in(MPI_IDENT), MPI_IDENT);
  EXPECT_EQ(assertion_in(1 << 29) & kNoBit, kNoBit);
}

TEST(Codes, LibraryAndUserCodesConvertInBothDirections) {
  for (const int here : {2047, 2048, 16368, 16383, 16384, 16385, 30000})
    EXPECT_EQ(error_in(error_out(here)), here);
  EXPECT_EQ(error_out(MPI_ERR_LASTCODE), kErrLastcode);
  // A class that the facade's ABI may lack becomes one that it has.
  EXPECT_EQ(error_out(MPI_ERR_ABI), kErrOther == 16 ? kErrOther : 81);
  EXPECT_EQ(error_out(MPI_ERR_ERRHANDLER), kErrOther == 16 ? kErrArg : 80);
  EXPECT_EQ(error_out(333), 333);
}

}  // namespace
}  // namespace hearth::facade
