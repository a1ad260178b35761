// Error codes, their texts, and the error handlers.
#include "abi/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "abi/handle.h"
#include "fake_job.h"
#include "mpi-ext.h"

namespace hearth::abi {
namespace {

TEST(ErrorCode, EveryClassHasItsOwnWords) {
  int classes = 0;
#define HEARTH_ERROR_CLASS(name)                                                        \
  EXPECT_EQ(words_of(name).rfind(#name ": ", 0), 0u) << "error_class.def lacks " #name; \
  EXPECT_EQ(class_of(name), name);                                                      \
  ++classes;
#include "hearth_error_classes.inc"
#undef HEARTH_ERROR_CLASS
  EXPECT_EQ(classes, 85);  // the standard has 82, mpi-ext.h three
}

TEST(ErrorCode, StandsForAClassAndWords) {
  const int code = error_code_for(fail(MPI_ERR_TRUNCATE, "%d bytes too many", 5));
  EXPECT_GT(code, MPI_ERR_ABI);
  EXPECT_LE(code, MPI_ERR_LASTCODE);
  EXPECT_EQ(class_of(code), MPI_ERR_TRUNCATE);
  EXPECT_EQ(words_of(code), "5 bytes too many");
  EXPECT_EQ(error_code_for(Status()), MPI_SUCCESS);
}

TEST(ErrorCode, KeepsItsClassWhenItsWordsAreGone) {
  const int code = make_error_code(MPI_ERR_TAG, "the first");
  for (int i = 0; i < 300; ++i) EXPECT_LE(make_error_code(MPI_ERR_ABI, "another"), MPI_ERR_LASTCODE);
  EXPECT_EQ(class_of(code), MPI_ERR_TAG);
  EXPECT_EQ(words_of(code), words_of(MPI_ERR_TAG));
}

TEST(ErrorCode, OfCallsInSignalHandlersHasWordsWithoutMemory) {
  EXPECT_EQ(class_of_code(kInHandlerCode), MPI_ERR_OTHER);
  char text[MPI_MAX_ERROR_STRING];
  const int length = text_of_code(kInHandlerCode, text);
  EXPECT_EQ(static_cast<size_t>(length), std::strlen(text));
  EXPECT_NE(std::strstr(text, "signal handler"), nullptr) << text;
}

TEST(ErrorCode, NumbersThatAreNone) {
  for (const int number : {-1, 63, 1000, 2046, 16382, 1 << 20, -32766}) {
    EXPECT_EQ(class_of(number), MPI_ERR_UNKNOWN) << number;
    EXPECT_NE(words_of(number), "");
  }
}

TEST(CallText, NamesTheConstantsAmongItsArguments) {
  const auto text_of = [](Call call, std::vector<uint64_t> words) {
    char text[512];
    describe_call(call, words.data(), text, sizeof text);
    return std::string(text);
  };
  const auto no_window = reinterpret_cast<uintptr_t>(MPI_WIN_NULL);
  EXPECT_EQ(text_of(Call::win_lock, {MPI_LOCK_SHARED, 3, MPI_MODE_NOCHECK, no_window}),
            "MPI_Win_lock(lock_type=MPI_LOCK_SHARED, rank=3, assert=MPI_MODE_NOCHECK, win=MPI_WIN_NULL)");
  EXPECT_EQ(text_of(Call::win_fence, {MPI_MODE_NOSTORE | MPI_MODE_NOPUT | 0x40000000, no_window}),
            "MPI_Win_fence(assert=MPI_MODE_NOPUT | MPI_MODE_NOSTORE | 0x40000000, win=MPI_WIN_NULL)");
  EXPECT_EQ(text_of(Call::win_lock, {7, static_cast<uint64_t>(MPI_PROC_NULL), 0, no_window}),
            "MPI_Win_lock(lock_type=7, rank=MPI_PROC_NULL, assert=0, win=MPI_WIN_NULL)");
}

TEST(ErrorCode, UsersAddAndRemoveTheirOwn) {
  FakeJob job;
  job.return_errors();
  int error_class, code;
  MPI_Add_error_class(&error_class);
  EXPECT_GT(error_class, MPI_ERR_LASTCODE);
  EXPECT_EQ(last_used_code(), error_class);
  EXPECT_EQ(words_of(error_class), "");
  MPI_Add_error_code(error_class, &code);
  EXPECT_EQ(last_used_code(), code);
  EXPECT_EQ(class_of(code), error_class);
  MPI_Add_error_string(code, "mine");
  EXPECT_EQ(words_of(code), "mine");
  // A class with codes and a code with a text cannot be removed.
  EXPECT_EQ(class_of(MPI_Remove_error_class(error_class)), MPI_ERR_OTHER);
  EXPECT_EQ(class_of(MPI_Remove_error_code(code)), MPI_ERR_OTHER);
  EXPECT_EQ(MPI_Remove_error_string(code), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_class(error_class), MPI_SUCCESS);
  EXPECT_NE(MPI_Remove_error_class(error_class), MPI_SUCCESS);
  EXPECT_NE(MPI_Remove_error_code(0), MPI_SUCCESS);
  EXPECT_NE(MPI_Remove_error_string(MPI_ERR_COMM), MPI_SUCCESS);
}

struct Heard {
  MPI_Comm comm = MPI_COMM_NULL;
  int code = 0;
  int times = 0;
} heard;

void listen(MPI_Comm* comm, int* code, ...) {
  heard.comm = *comm;
  heard.code = *code;
  ++heard.times;
}

void hear_nothing(MPI_File*, int*, ...) {}

TEST(Errhandler, UserFunctionHearsTheAbiHandleAndTheCode) {
  FakeJob job;
  heard = {};
  MPI_Errhandler mine;
  ASSERT_EQ(MPI_Comm_create_errhandler(listen, &mine), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine), MPI_SUCCESS);
  MPI_Errhandler got;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
  EXPECT_EQ(got, mine);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&mine);
  EXPECT_EQ(mine, MPI_ERRHANDLER_NULL);
  // The communicator keeps the freed handler alive.
  const int code = MPI_Send(nullptr, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  EXPECT_EQ(heard.times, 1);
  EXPECT_EQ(heard.comm, MPI_COMM_WORLD);
  EXPECT_EQ(heard.code, code);
  EXPECT_EQ(class_of(code), MPI_ERR_COUNT);
  EXPECT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER), MPI_SUCCESS);
  EXPECT_EQ(heard.times, 2);
  EXPECT_EQ(heard.code, MPI_ERR_OTHER);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

TEST(Errhandler, OfAnotherKindIsRefused) {
  FakeJob job;
  job.return_errors();
  MPI_Errhandler for_files;
  MPI_File_create_errhandler(hear_nothing, &for_files);
  EXPECT_EQ(class_of(MPI_Comm_set_errhandler(MPI_COMM_WORLD, for_files)), MPI_ERR_ERRHANDLER);
  EXPECT_EQ(class_of(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL)), MPI_ERR_ERRHANDLER);
  MPI_Errhandler_free(&for_files);
}

TEST(Errhandler, ErrorsOfNoCommunicatorAreRaisedOnSelf) {
  FakeJob job;
  heard = {};
  MPI_Errhandler mine;
  MPI_Comm_create_errhandler(listen, &mine);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, mine);
  int size;
  EXPECT_EQ(class_of(MPI_Type_size(MPI_DATATYPE_NULL, &size)), MPI_ERR_TYPE);
  EXPECT_EQ(heard.comm, MPI_COMM_SELF);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&mine);
}

TEST(Errhandler, BlameChoosesTheCommunicator) {
  FakeJob job;
  heard = {};
  MPI_Errhandler mine;
  MPI_Comm_create_errhandler(listen, &mine);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
  const uint64_t words[] = {0, 0};
  const int code = raise(Call::wait, words, blame(job.world(), fail(MPI_ERR_TRUNCATE, "too long")));
  EXPECT_EQ(heard.comm, MPI_COMM_WORLD);
  EXPECT_EQ(words_of(code), "MPI_Wait(request=NULL, status=MPI_STATUS_IGNORE): too long");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&mine);
}

TEST(Errhandler, FatalEndsTheProcessWithTheWholeLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  FakeJob job;
  EXPECT_DEATH(MPI_Send("x", 1, MPI_CHAR, 7, 0, MPI_COMM_WORLD),
               "MPI_Send\\(buf=0x[0-9a-f]+, count=1, datatype=MPI_CHAR, dest=7, tag=0, "
               "comm=MPI_COMM_WORLD\\): dest is 7, "
               "but the ranks of this communicator are 0 to 2");
}

}  // namespace
}  // namespace hearth::abi
