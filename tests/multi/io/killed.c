/* HEARTH_CHAOS kills rank 1 at a point that the argument names: `range`, while it holds a range of bytes in
 * atomic mode; `staged`, in the middle of a collective write; `closing`, in MPI_File_close. The other ranks
 * get an error or continue, and the file has only bytes that some rank wrote. */
#include "../fault/fault.h"

enum { kBlock = 64, kBlocks = 4096, kRanksMax = 16 };

static unsigned char data_[kBlock * kBlocks];

/* Each byte of the file is 0, a hole, or the mark of the rank that owns it. */
static void check_bytes(MPI_File file, int size, int interleaved) {
  static unsigned char found[kBlock * kBlocks * kRanksMax];
  MPI_Status status;
  int bytes = 0;
  MPI_File_set_atomicity(file, 0);
  CHECK(MPI_File_read_at(file, 0, found, kBlock * kBlocks * size, MPI_BYTE, &status) == MPI_SUCCESS,
        "no read");
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  for (int i = 0; i < bytes; ++i) {
    const int owner = interleaved ? i / kBlock % size + 1 : found[i];
    CHECK(found[i] == 0 || (found[i] == owner && owner <= size), "byte %d is %d", i, found[i]);
  }
}

static void write_atomically(MPI_File file) {
  MPI_File_set_atomicity(file, 1);
  for (int i = 0; i < 50; ++i) {
    const int code = MPI_File_write_at(file, 0, data_, sizeof data_, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(code == MPI_SUCCESS, "write %d: %s", i, words_of(code));
  }
}

/* Returns the class of the error that ends the writes. */
static int write_together(MPI_File file, int rank, int size) {
  MPI_Datatype block, filetype;
  MPI_Type_contiguous(kBlock, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, kBlock * size, &filetype);
  MPI_Type_commit(&filetype);
  MPI_File_set_view(file, kBlock * rank, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
  int code = MPI_SUCCESS;
  for (int i = 0; i < 50 && code == MPI_SUCCESS; ++i)
    code = MPI_File_write_at_all(file, 0, data_, sizeof data_, MPI_BYTE, MPI_STATUS_IGNORE);
  return class_of(code);
}

/* Tells the launcher that the job goes on. */
static void acknowledge(void) {
  int something, acknowledged = 0;
  for (int tries = 0; acknowledged == 0; ++tries) {
    CHECK(tries < 1000, "no rank was killed");
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &something, MPI_STATUS_IGNORE);
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &acknowledged);
    pause_ms(2);
  }
}

int main(int argc, char** argv) {
  int rank, size, process = (int)getpid();
  char path[256];
  const char* const point = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  own_rank_ = rank;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "/tmp/file_test_killed.%d", process);
  memset(data_, rank + 1, sizeof data_);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "hearth_engine", "window");
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file) == MPI_SUCCESS,
        "no file");
  MPI_Info_free(&info);
  MPI_Barrier(MPI_COMM_WORLD);
  const int staged = strcmp(point, "staged") == 0;
  if (staged) {
    const int error_class = write_together(file, rank, size);
    CHECK(error_class == MPIX_ERR_PROC_FAILED, "the collective write ends with class %d", error_class);
  } else if (strcmp(point, "range") == 0) {
    write_atomically(file);
  }
  CHECK(rank != 1 || strcmp(point, "closing") == 0, "no rank was killed");
  const int closed = MPI_File_close(&file);
  CHECK(closed != MPI_SUCCESS && file == MPI_FILE_NULL, "the close does not report the death");
  acknowledge();
  if (rank == 0) {
    CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS, "no file");
    check_bytes(file, size, staged);
    MPI_File_close(&file);
    unlink(path);
  }
  MPI_Finalize();
  return 0;
}
