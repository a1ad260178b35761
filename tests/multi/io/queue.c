/* Non-blocking accesses, many at a time, by the queue that the argument names: `ring` (io_uring, if the
 * system has it) or `thread`. Data, counts at the end of the file and errors are those of blocking calls, and
 * the calls return before the data are moved. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "file.h"

enum { kRequests = 150, kUnit = 40000, kLong = 64 << 20 };

static char path_[512];

static unsigned char byte_of(int request, int at) {
  return (unsigned char)(rank_ * 31 + request * 7 + at % 251);
}

/* More requests than the ring has entries, of many lengths, to places in another order. */
static void many(MPI_File file) {
  static unsigned char* data[kRequests];
  MPI_Request requests[kRequests];
  MPI_Status statuses[kRequests];
  const MPI_Offset own = (MPI_Offset)rank_ * kRequests * kUnit * 4;
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kRequests; ++i) {
      const int bytes = kUnit + 700 * i;
      data[i] = malloc((size_t)bytes);
      for (int at = 0; at < bytes; ++at) data[i][at] = byte_of(i + turn, at);
      const int place = i * 37 % kRequests;
      DO(MPI_File_iwrite_at(file, own + (MPI_Offset)place * kUnit * 4, data[i], bytes, MPI_BYTE,
                            &requests[i]));
    }
    DO(MPI_Waitall(kRequests, requests, statuses));
    for (int i = 0; i < kRequests; ++i) {
      const int bytes = kUnit + 700 * i, place = i * 37 % kRequests;
      int count = -1;
      MPI_Get_count(&statuses[i], MPI_BYTE, &count);
      CHECK(count == bytes, "write %d has %d bytes", i, count);
      memset(data[i], 0, (size_t)bytes);
      DO(MPI_File_iread_at(file, own + (MPI_Offset)place * kUnit * 4, data[i], bytes, MPI_BYTE,
                           &requests[i]));
    }
    DO(MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kRequests; ++i) {
      for (int at = 0; at < kUnit + 700 * i; ++at)
        CHECK(data[i][at] == byte_of(i + turn, at), "turn %d: byte %d of %d is %d", turn, at, i, data[i][at]);
      free(data[i]);
    }
  }
}

/* A read across the end of the file, and one beyond it. */
static void ends(MPI_File file) {
  unsigned char* const data = malloc(kLong);
  MPI_Request request;
  MPI_Status status;
  int count = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  DO(MPI_File_set_size(file, 100000));
  DO(MPI_File_iread_at(file, 50000, data, kLong, MPI_BYTE, &request));
  DO(MPI_Wait(&request, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 50000, "a read across the end has %d bytes", count);
  DO(MPI_File_iread_at(file, 100000, data, 50000, MPI_BYTE, &request));
  DO(MPI_Wait(&request, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 0, "a read beyond the end has %d bytes", count);
  free(data);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void limit(MPI_File file) {
  struct rlimit before, limit;
  MPI_Request request;
  MPI_Status status;
  int count = -1;
  unsigned char* const data = calloc(1, 200000);
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  limit = before;
  limit.rlim_cur = 150000;
  setrlimit(RLIMIT_FSIZE, &limit);
  DO(MPI_File_iwrite_at(file, 0, data, 200000, MPI_BYTE, &request));
  FAILS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 150000, "%d bytes are written up to the limit", count);
  setrlimit(RLIMIT_FSIZE, &before);
  free(data);
}

/* At least one of several long writes is not complete when its call returns. */
static void overlap(MPI_Info info) {
  MPI_File file;
  MPI_Request request;
  struct stat status;
  char name[600];
  int early = 0;
  char* const data = calloc(1, kLong);
  snprintf(name, sizeof name, "%s.%d", path_, rank_);
  DO(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                   &file));
  for (int turn = 0; turn < 20 && !early; ++turn) {
    DO(MPI_File_set_size(file, 0));
    DO(MPI_File_iwrite_at(file, 0, data, kLong, MPI_BYTE, &request));
    early = stat(name, &status) == 0 && status.st_size < kLong;
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(stat(name, &status) == 0 && status.st_size == kLong, "the write is complete with %lld bytes",
          (long long)status.st_size);
  }
  CHECK(early, "each write was complete when its call returned");
  DO(MPI_File_close(&file));
  free(data);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "hearth_queue", argc > 1 ? argv[1] : "automatic");
  snprintf(path_, sizeof path_, "%s", shared_name("queue"));
  MPI_File file;
  DO(MPI_File_open(MPI_COMM_WORLD, path_, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                   &file));
  many(file);
  ends(file);
  limit(file);
  overlap(info);
  DO(MPI_File_close(&file));
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
