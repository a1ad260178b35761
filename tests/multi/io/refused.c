/* HEARTH_CHAOS makes one system call on a file fail, on every rank. One MPI call reports the failure on each
 * rank, with the class of its errno, and all other calls succeed. */
#include "file.h"

static int failures_;

/* Counts a failure of this class. */
static void expect(int code, int error_class, const char* call) {
  if (code == MPI_SUCCESS) return;
  CHECK(class_of(code) == error_class, "%s fails with class %d: %s", call, class_of(code), words_of(code));
  ++failures_;
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  const char* const name = shared_name("refused");
  const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
  MPI_File file;
  int code = MPI_SUCCESS;
  do {
    code = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file);
    expect(code, MPI_ERR_IO, "MPI_File_open");
  } while (code != MPI_SUCCESS && failures_ < 3);
  /* Rank 0 opens the file first: its failure and that of the other ranks are in two calls. */
  if (failures_ == 2 && size_ > 1) failures_ = 1;
  CHECK(code == MPI_SUCCESS, "no file after %d failures", failures_);
  int value = rank_, read = -1;
  MPI_Status status;
  expect(MPI_File_preallocate(file, 4096), MPI_ERR_NO_SPACE, "MPI_File_preallocate");
  for (int turn = 0; turn < 2; ++turn) {
    code = MPI_File_write_at(file, 4 * rank_, &value, 4, MPI_BYTE, &status);
    expect(code, MPI_ERR_IO, "MPI_File_write_at");
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == (code == MPI_SUCCESS ? 4 : 0), "the status of the write has %d bytes", count);
    expect(MPI_File_read_at(file, 4 * rank_, &read, 4, MPI_BYTE, &status), MPI_ERR_IO, "MPI_File_read_at");
  }
  CHECK(read == rank_, "%d was read", read);
  for (int turn = 0; turn < 2; ++turn) expect(MPI_File_sync(file), MPI_ERR_IO, "MPI_File_sync");
  DO(MPI_File_close(&file));
  CHECK(failures_ == 1, "%d calls failed", failures_);
  MPI_Finalize();
  return 0;
}
