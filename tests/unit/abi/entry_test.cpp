// Entry points reject invalid arguments with the right error class and text before any implementation runs.
#include <gtest/gtest.h>

#include <string>

#include "abi/error.h"
#include "abi/handle.h"
#include "fake_job.h"
#include "mpi.h"

namespace hearth::abi {
namespace {

class Entry : public ::testing::Test {
 protected:
  void SetUp() override { job_.return_errors(); }

  void expect(int code, int error_class, const char* part) {
    EXPECT_EQ(class_of(code), error_class) << words_of(code);
    EXPECT_NE(words_of(code).find(part), std::string::npos) << words_of(code);
  }

  FakeJob job_;
  int buffer_[4] = {};
  MPI_Comm freed_comm() {
    objects::Comm* comm = objects::pools.comms.create();
    const MPI_Comm handle = to_handle(comm);
    objects::pools.comms.destroy(comm);
    return handle;
  }
};

TEST_F(Entry, Send) {
  expect(MPI_Send(buffer_, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -1");
  expect(MPI_Send(buffer_, 1, MPI_INT, 3, 0, MPI_COMM_WORLD), MPI_ERR_RANK,
         "ranks of this communicator are 0 to 2");
  expect(MPI_Send(buffer_, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "dest is -1");
  expect(MPI_Send(buffer_, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG, "tag is -1");
  expect(MPI_Send(buffer_, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG, "tag is -2");
  expect(MPI_Send(buffer_, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
  expect(MPI_Send(nullptr, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "null pointer");
  expect(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  expect(MPI_Send(buffer_, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "null handle");
  expect(MPI_Send(buffer_, 1, MPI_INT, 0, 0, nullptr), MPI_ERR_COMM, "never set");
  expect(MPI_Send(buffer_, 1, MPI_INT, 0, 0, freed_comm()), MPI_ERR_COMM, "freed before");
  expect(MPI_Send(buffer_, 1, MPI_INT, 0, 0, reinterpret_cast<MPI_Comm>(MPI_INT)), MPI_ERR_COMM,
         "in the place of another");
  expect(MPI_Send_c(buffer_, MPI_Count{-5000000000}, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT,
         "MPI_Send_c(");
}

TEST_F(Entry, UncommittedAndUnsupportedTypes) {
  datatype::Type* type = datatype::pool.create();
  type->size = type->extent = 4;
  expect(MPI_Send(buffer_, 1, to_handle(type), 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Type_commit");
  type->supported = false;
  expect(MPI_Send(buffer_, 1, to_handle(type), 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "not supported");
  datatype::pool.destroy(type);
}

TEST_F(Entry, Receive) {
  MPI_Status status;
  expect(MPI_Recv(buffer_, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK, "MPI_ANY_SOURCE");
  expect(MPI_Recv(buffer_, 1, MPI_INT, MPI_ROOT, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK, "source is -4");
  expect(MPI_Recv(buffer_, 1, MPI_INT, 0, -1, MPI_COMM_WORLD, &status), MPI_ERR_TAG, "MPI_ANY_TAG");
  expect(MPI_Recv(nullptr, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
         MPI_ERR_BUFFER,
         "source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, comm=MPI_COMM_WORLD, status=MPI_STATUS_IGNORE");
}

TEST_F(Entry, RequestsAndResults) {
  expect(MPI_Isend(buffer_, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, nullptr), MPI_ERR_ARG,
         "request is a null pointer");
  expect(MPI_Waitall(-1, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "count is -1");
  expect(MPI_Waitall(1, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "array_of_requests is a null pointer");
  expect(MPI_Comm_rank(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG, "rank is a null pointer");
  expect(MPI_Get_count(nullptr, MPI_INT, buffer_), MPI_ERR_ARG, "status is a null pointer");
}

TEST_F(Entry, Collectives) {
  expect(MPI_Bcast(buffer_, 1, MPI_INT, 3, MPI_COMM_WORLD), MPI_ERR_ROOT, "root is 3");
  expect(MPI_Bcast(buffer_, 1, MPI_INT, MPI_PROC_NULL, MPI_COMM_WORLD), MPI_ERR_ROOT, "root is -3");
  expect(MPI_Allreduce(MPI_IN_PLACE, buffer_, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP,
         "MPI_OP_NULL");
  expect(MPI_Allreduce(buffer_, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER,
         "recvbuf is MPI_IN_PLACE");
  // Only the root may pass MPI_IN_PLACE to a reduce; this process has rank 1.
  expect(MPI_Reduce(MPI_IN_PLACE, buffer_, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER,
         "only the root");
  const int counts[] = {1, -1, 1}, places[] = {0, 1, 2};
  expect(MPI_Gatherv(buffer_, 1, MPI_INT, buffer_, counts, places, MPI_INT, 1, MPI_COMM_WORLD), MPI_ERR_COUNT,
         "recvcounts has a negative entry");
  expect(MPI_Allgatherv(buffer_, 1, MPI_INT, buffer_, nullptr, places, MPI_INT, MPI_COMM_WORLD), MPI_ERR_ARG,
         "recvcounts is a null pointer");
}

TEST_F(Entry, NotImplementedYet) {
  const uint64_t words[1] = {};
  expect(unimplemented(Call::barrier, words), MPI_ERR_UNSUPPORTED_OPERATION,
         "MPI_Barrier is not implemented");
}

TEST_F(Entry, FilesHaveTheirOwnHandler) {
  job_.world().errhandler = job_.self().errhandler = &predefined_errhandler(MPI_ERRORS_ARE_FATAL);
  // Files have their own error handler, which returns by default.
  expect(MPI_File_delete("/nowhere/at/all", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE,
         "filename=\"/nowhere/at/all\"");
  MPI_Offset size;
  expect(MPI_File_get_size(MPI_FILE_NULL, &size), MPI_ERR_FILE, "null handle");
}

TEST_F(Entry, ToolsGetTheirOwnClasses) {
  job_.world().errhandler = job_.self().errhandler = &predefined_errhandler(MPI_ERRORS_ARE_FATAL);
  int count, provided;
  EXPECT_EQ(MPI_T_cvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
  ASSERT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_cvar_get_num(nullptr), MPI_T_ERR_INVALID);
  EXPECT_EQ(MPI_T_cvar_get_num(&count), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
}

TEST_F(Entry, LongCallsAreCutBeforeTheReason) {
  const std::string name(2 * MPI_MAX_ERROR_STRING, 'n');
  const int code = MPI_Lookup_name(name.c_str(), MPI_INFO_NULL, nullptr);
  expect(code, MPI_ERR_ARG, "port_name is a null pointer");
}

TEST(EntryState, CallsOutsideInitAndFinalize) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int rank;
  EXPECT_DEATH(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank\\(.*\\): called before MPI_Init");
  EXPECT_DEATH(
      {
        enter_state(State::finalized);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      },
      "called after MPI_Finalize");
  EXPECT_DEATH(
      {
        enter_state(State::forked_child);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      },
      "made by fork after MPI_Init");
  int version, subversion;
  EXPECT_EQ(MPI_Get_version(&version, &subversion), MPI_SUCCESS);
  EXPECT_EQ(version, 5);
}

}  // namespace
}  // namespace hearth::abi
