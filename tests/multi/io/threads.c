/* Threads access files at the same time: each its own file, and all of them one shared file, by every engine.
 */
#include <pthread.h>

#include "file.h"

enum { kThreads = 4, kTurns = 20, kBytes = 300000 };

static MPI_File common_;
static char own_name_[256];
static MPI_Comm alone_[kThreads]; /* MPI_COMM_SELF for each thread */

static void* work(void* argument) {
  const int thread = *(const int*)argument;
  const int writer = rank_ * kThreads + thread;
  unsigned char* const out = malloc(kBytes);
  unsigned char* const in = malloc(kBytes);
  char name[300];
  MPI_File own;
  MPI_Datatype block, strided;
  MPI_Type_contiguous(10, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, 40, &strided);
  MPI_Type_commit(&strided);
  snprintf(name, sizeof name, "%s.%d", own_name_, writer);
  DO(MPI_File_open(alone_[thread], name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &own));
  for (int turn = 0; turn < kTurns; ++turn) {
    MPI_Request request;
    memset(out, writer + turn, kBytes);
    DO(MPI_File_set_view(own, 0, MPI_BYTE, turn % 2 ? strided : MPI_BYTE, "native", MPI_INFO_NULL));
    DO(MPI_File_iwrite_at(own, 0, out, kBytes, MPI_BYTE, &request));
    DO(MPI_File_write_at(common_, (MPI_Offset)writer * kBytes, out, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
    memset(in, 0xff, kBytes);
    DO(MPI_File_read_at(own, 0, in, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(in, out, kBytes) == 0, "thread %d: other data in its own file", thread);
    DO(MPI_File_iread_at(common_, (MPI_Offset)writer * kBytes, in, kBytes, MPI_BYTE, &request));
    DO(MPI_File_write_shared(common_, out, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* The records of the shared pointer begin beyond all parts. */
    CHECK(memcmp(in, out, kBytes) == 0, "thread %d: other data in the common file", thread);
  }
  DO(MPI_File_close(&own));
  MPI_Type_free(&strided);
  MPI_Type_free(&block);
  free(out);
  free(in);
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (provided == MPI_THREAD_MULTIPLE) {
    snprintf(own_name_, sizeof own_name_, "%s", shared_name("threads"));
    common_ = open_new("common");
    const MPI_Offset records = (MPI_Offset)size_ * kThreads * kBytes;
    DO(MPI_File_seek_shared(common_, records, MPI_SEEK_SET));
    pthread_t threads[kThreads];
    int numbers[kThreads];
    for (int i = 0; i < kThreads; ++i) {
      numbers[i] = i;
      MPI_Comm_dup(MPI_COMM_SELF, &alone_[i]);
      CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0, "no thread");
    }
    for (int i = 0; i < kThreads; ++i) {
      pthread_join(threads[i], NULL);
      MPI_Comm_free(&alone_[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset position = 0;
    DO(MPI_File_get_position_shared(common_, &position));
    CHECK(position == records + (MPI_Offset)size_ * kThreads * kTurns, "the shared pointer is at %lld",
          (long long)position);
    DO(MPI_File_close(&common_));
  }
  MPI_Finalize();
  return 0;
}
