// Files: leaks, collective calls, buffers of pending accesses, and calls that their mode forbids.
#include <unistd.h>

#include "cases.h"

static int a[64], b[64];

// A file of the job without a name: a case may end at any call.
static MPI_File open_with(MPI_Comm comm, int amode) {
  static int number;
  char name[100];
  int process = (int)getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, comm);
  snprintf(name, sizeof name, "/tmp/file_test_check.%d.%d", process, number++);
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(comm, name, amode | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  unlink(name);
  return file;
}
static MPI_File open_new(void) {
  return open_with(W, MPI_MODE_RDWR);
}

CASE(never_closed) {
  UNUSED;
  MPI_File file;
  MPI_File_open(W, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
}
CASE(closed_by_one) {
  UNUSED;
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (rank == 0) MPI_File_close(&file);
}
CASE(view_of_one) {
  UNUSED;
  MPI_File file = open_new();
  if (rank == 0) MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, a, 1, MPI_INT, IGNORE);
  MPI_File_close(&file);
}
CASE(sync_and_write_all) {
  UNUSED;
  MPI_File file = open_new();
  if (rank == 0) MPI_File_sync(file);
  MPI_File_write_all(file, a, 1, MPI_INT, IGNORE);
  if (rank != 0) MPI_File_sync(file);
  MPI_File_close(&file);
}
CASE(iwrite_all_order) {
  UNUSED;
  MPI_File file = open_new();
  MPI_Request requests[2];
  if (rank == 0) MPI_File_iwrite_all(file, a, 1, MPI_INT, &requests[0]);
  MPI_File_iread_all(file, b, 1, MPI_INT, &requests[1]);
  if (rank != 0) MPI_File_iwrite_all(file, a, 1, MPI_INT, &requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_File_close(&file);
}
CASE(amode) {
  UNUSED;
  MPI_File file;
  MPI_File_open(W, "/dev/null", rank == 0 ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL, &file);
}
CASE(representation) {
  UNUSED;
  MPI_File file = open_new();
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, rank == 0 ? "native" : "external32", MPI_INFO_NULL);
  MPI_File_close(&file);
}
CASE(etype) {
  UNUSED;
  MPI_File file = open_new();
  MPI_Datatype type = rank == 0 ? MPI_INT : MPI_DOUBLE;
  MPI_File_set_view(file, 0, type, type, "native", MPI_INFO_NULL);
  MPI_File_close(&file);
}
CASE(shared_offset) {
  UNUSED;
  MPI_File file = open_new();
  MPI_File_seek_shared(file, rank, MPI_SEEK_SET);
  MPI_File_close(&file);
}
CASE(iwrite_changed) {
  UNUSED;
  MPI_File file = open_new();
  MPI_Request request;
  MPI_File_iwrite_at(file, 0, a, 64, MPI_INT, &request);
  a[5] = 1;
  MPI_Wait(&request, IGNORE);
  MPI_File_close(&file);
}
CASE(ireads_overlap) {
  UNUSED;
  MPI_File file = open_new();
  MPI_Request requests[2];
  MPI_File_iread_at(file, 0, a, 10, MPI_INT, &requests[0]);
  MPI_File_iread_at(file, 40, a + 9, 10, MPI_INT, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_File_close(&file);
}
CASE(read_into_iwrite) {
  UNUSED;
  MPI_File file = open_new();
  MPI_Request request;
  MPI_File_iwrite_at(file, 0, a, 10, MPI_INT, &request);
  MPI_File_read_at(file, 400, a, 1, MPI_INT, IGNORE);
  MPI_Wait(&request, IGNORE);
  MPI_File_close(&file);
}
CASE(iread_never_completed) {
  UNUSED;
  MPI_File file;
  MPI_Request request;
  MPI_File_open(MPI_COMM_SELF, "/dev/zero", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_File_iread_at(file, 0, a, 10, MPI_INT, &request);
  MPI_File_close(&file);
}
CASE(write_of_read_only) {
  UNUSED;
  MPI_File file;
  MPI_File_open(W, "/dev/zero", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 0, a, 1, MPI_INT, IGNORE);
  MPI_File_close(&file);
}
CASE(read_of_write_only) {
  UNUSED;
  MPI_File file = open_with(W, MPI_MODE_WRONLY);
  MPI_File_read_at(file, 0, a, 1, MPI_INT, IGNORE);
  MPI_File_close(&file);
}
CASE(seek_in_sequence) {
  UNUSED;
  MPI_File file;
  MPI_File_open(W, "/dev/null", MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_close(&file);
}
CASE(part_of_etype) {
  UNUSED;
  MPI_File file = open_new();
  MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
  MPI_File_write_at(file, 0, a, 3, MPI_INT, IGNORE);
  MPI_File_close(&file);
}
CASE(two_splits) {
  UNUSED;
  MPI_File file = open_new();
  MPI_File_write_all_begin(file, a, 1, MPI_INT);
  MPI_File_read_all_begin(file, b, 1, MPI_INT);
  MPI_File_write_all_end(file, a, IGNORE);
  MPI_File_close(&file);
}
CASE(split_changed) {
  UNUSED;
  MPI_File file = open_new();
  MPI_File_write_all_begin(file, a, 64, MPI_INT);
  a[5] = 1;
  MPI_File_write_all_end(file, a, IGNORE);
  MPI_File_close(&file);
}
CASE(split_overlap) {
  UNUSED;
  MPI_File file = open_new();
  MPI_File_read_ordered_begin(file, a, 64, MPI_INT);
  MPI_Bcast(a + 60, 1, MPI_INT, 0, W);
  MPI_File_read_ordered_end(file, a, IGNORE);
  MPI_File_close(&file);
}
CASE(end_without_begin) {
  UNUSED;
  MPI_File file = open_new();
  MPI_File_write_all_end(file, a, IGNORE);
  MPI_File_close(&file);
}

CASE(ok_independent) {
  UNUSED;
  MPI_File file = open_new();
  if (rank == 0) MPI_File_write_at(file, 0, a, 10, MPI_INT, IGNORE);
  if (rank == 1) MPI_File_write_shared(file, a, 10, MPI_INT, IGNORE);
  if (rank == 1) MPI_File_read_at(file, 1000, b, 10, MPI_INT, IGNORE);
  MPI_File_close(&file);
}
CASE(ok_collective) {
  UNUSED;
  MPI_File file = open_new();
  MPI_File_write_at_all(file, 40 * rank, a, 10, MPI_INT, IGNORE);
  MPI_File_write_ordered(file, a, rank, MPI_INT, IGNORE);
  MPI_File_read_all_begin(file, b, 10, MPI_INT);
  MPI_File_read_all_end(file, b, IGNORE);
  MPI_File_write_at_all_begin_c(file, 40 * rank, a, 10, MPI_INT);
  MPI_Bcast(b, 1, MPI_INT, 0, W);
  MPI_File_write_at_all_end(file, a, IGNORE);
  a[0] = 7;
  MPI_File_set_size(file, 1000);
  MPI_File_seek_shared(file, 3, MPI_SEEK_SET);
  MPI_File_sync(file);
  MPI_File_close(&file);
}
CASE(ok_views) {
  UNUSED;
  MPI_File file = open_new();
  MPI_Datatype filetype;
  MPI_Type_vector(4, 1 + rank, 8, MPI_INT, &filetype);
  MPI_Type_commit(&filetype);
  MPI_File_set_view(file, 4 * rank, MPI_INT, filetype, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, a, 4, MPI_INT, IGNORE);
  // Another etype of the same extent.
  MPI_File_set_view(file, 0, rank == 0 ? MPI_INT : MPI_FLOAT, filetype, "native", MPI_INFO_NULL);
  MPI_Type_free(&filetype);
  MPI_File_close(&file);
}
CASE(ok_nonblocking) {
  UNUSED;
  MPI_File file = open_new();
  MPI_Request requests[3];
  MPI_File_iwrite_at(file, 256 * rank, a, 32, MPI_INT, &requests[0]);
  MPI_File_iwrite_at(file, 256 * rank + 128, a, 32, MPI_INT, &requests[1]);
  MPI_File_iread_at_all(file, 100000, b, 32, MPI_INT, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  a[0] = 7;
  MPI_File_close(&file);
}
CASE(ok_missing_file) {
  UNUSED;
  MPI_File file;
  if (MPI_File_open(W, "/tmp/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS)
    MPI_File_close(&file);
}
// Collective calls on two files are ordered on each of them only.
CASE(ok_two_files) {
  UNUSED;
  MPI_File files[2];
  for (int i = 0; i < 2; ++i) files[i] = open_new();
  MPI_Request requests[2];
  MPI_File_iwrite_all(files[rank % 2], a, 1, MPI_INT, &requests[0]);
  MPI_File_iwrite_all(files[1 - rank % 2], a, 1, MPI_INT, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; ++i) MPI_File_close(&files[i]);
}

PROGRAM(ROW(never_closed), ROW(closed_by_one), ROW(view_of_one), ROW(sync_and_write_all),
        ROW(iwrite_all_order), ROW(amode), ROW(representation), ROW(etype), ROW(shared_offset),
        ROW(iwrite_changed), ROW(ireads_overlap), ROW(read_into_iwrite), ROW(iread_never_completed),
        ROW(write_of_read_only), ROW(read_of_write_only), ROW(seek_in_sequence), ROW(part_of_etype),
        ROW(two_splits), ROW(split_changed), ROW(split_overlap), ROW(end_without_begin), ROW(ok_independent),
        ROW(ok_collective), ROW(ok_views), ROW(ok_nonblocking), ROW(ok_missing_file), ROW(ok_two_files))
