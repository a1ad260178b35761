/* Non-blocking accesses whose thread ends before they complete: another thread completes them. When a thread
 * ends, io_uring cancels the transfers that it submitted and that have not begun. */
#include <pthread.h>

#include "file.h"

enum { kRequests = 24, kBytes = 4 << 20 };

static MPI_File file_;
static MPI_Request requests_[kRequests];
static unsigned char* data_[kRequests];
static int writing_;

static void* start_all(void* nothing) {
  const MPI_Offset own = (MPI_Offset)rank_ * kRequests * kBytes;
  for (int i = 0; i < kRequests; ++i) {
    const MPI_Offset offset = own + (MPI_Offset)i * kBytes;
    if (writing_) {
      DO(MPI_File_iwrite_at(file_, offset, data_[i], kBytes, MPI_BYTE, &requests_[i]));
    } else {
      DO(MPI_File_iread_at(file_, offset, data_[i], kBytes, MPI_BYTE, &requests_[i]));
    }
  }
  return nothing;
}

static void in_another_thread(int writing) {
  pthread_t thread;
  MPI_Status statuses[kRequests];
  writing_ = writing;
  CHECK(pthread_create(&thread, NULL, start_all, NULL) == 0, "no thread");
  pthread_join(thread, NULL);
  DO(MPI_Waitall(kRequests, requests_, statuses));
  for (int i = 0; i < kRequests; ++i) {
    int count = -1;
    MPI_Get_count(&statuses[i], MPI_BYTE, &count);
    CHECK(count == kBytes, "access %d has %d bytes", i, count);
  }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "hearth_queue", argc > 1 ? argv[1] : "automatic");
  DO(MPI_File_open(MPI_COMM_WORLD, shared_name("ended"),
                   MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &file_));
  MPI_Info_free(&info);
  for (int i = 0; i < kRequests; ++i) {
    data_[i] = malloc(kBytes);
    memset(data_[i], rank_ * 31 + i, kBytes);
  }
  in_another_thread(1);
  for (int i = 0; i < kRequests; ++i) memset(data_[i], 0xee, kBytes);
  in_another_thread(0);
  for (int i = 0; i < kRequests; ++i) {
    for (int at = 0; at < kBytes; ++at)
      CHECK(data_[i][at] == (unsigned char)(rank_ * 31 + i), "byte %d of %d is %d", at, i, data_[i][at]);
    free(data_[i]);
  }
  DO(MPI_File_close(&file_));
  MPI_Finalize();
  return 0;
}
