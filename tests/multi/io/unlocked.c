/* Other threads use the library while a system call on a file waits: for the other end of a pipe, and, on
 * several machines, for a range of the file in atomic mode. Threads of one process exclude each other in
 * atomic mode. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "file.h"

enum { kThreads = 3, kTurns = 30, kBytes = 60000 };

static char path_[512];
static MPI_File file_;

/* Uses the library for a while, so that the other thread is in its system call. */
static void use_library(MPI_Comm comm) {
  for (int turn = 0; turn < 200; ++turn) {
    int own = rank_, greatest = -1;
    DO(MPI_Allreduce(&own, &greatest, 1, MPI_INT, MPI_MAX, comm));
    const struct timespec pause = {0, 500000};
    nanosleep(&pause, NULL);
  }
}

static void* open_pipe(void* argument) {
  MPI_Comm* const alone = argument;
  DO(MPI_File_open(*alone, path_, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file_));
  char text[6] = "";
  DO(MPI_File_read_shared(file_, text, 5, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK(strcmp(text, "hello") == 0, "the pipe has '%s'", text);
  DO(MPI_File_close(&file_));
  return NULL;
}

/* The open of a pipe waits for a writer, and the read for its data. */
static void pipes(void) {
  MPI_Comm alone;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  snprintf(path_, sizeof path_, "/tmp/file_test_unlocked.%d", (int)getpid());
  CHECK(mkfifo(path_, 0600) == 0, "no pipe");
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, open_pipe, &alone) == 0, "no thread");
  use_library(MPI_COMM_WORLD);
  const int writer = open(path_, O_WRONLY);
  use_library(MPI_COMM_WORLD);
  CHECK(write(writer, "hello", 5) == 5, "the pipe is closed");
  pthread_join(thread, NULL);
  close(writer);
  unlink(path_);
  MPI_Comm_free(&alone);
}

static void* write_range(void* argument) {
  (void)argument;
  DO(MPI_File_write_at(file_, 0, path_, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  return NULL;
}

/* Rank 0's write waits for a lock of the file system. */
static void locked_ranges(void) {
  snprintf(path_, sizeof path_, "%s", shared_name("ranges"));
  DO(MPI_File_open(MPI_COMM_WORLD, path_, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file_));
  DO(MPI_File_set_atomicity(file_, 1));
  if (rank_ == 0) {
    const int other = open(path_, O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 50, .l_len = 10};
    CHECK(fcntl(other, F_OFD_SETLK, &lock) == 0, "no lock");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, write_range, NULL) == 0, "no thread");
    use_library(MPI_COMM_WORLD);
    struct stat status;
    CHECK(fstat(other, &status) == 0 && status.st_size == 0, "the write did not wait for the lock");
    lock.l_type = F_UNLCK;
    CHECK(fcntl(other, F_OFD_SETLK, &lock) == 0, "the lock stays");
    pthread_join(thread, NULL);
    CHECK(fstat(other, &status) == 0 && status.st_size == 100, "nothing is written");
    close(other);
  } else {
    use_library(MPI_COMM_WORLD);
  }
  DO(MPI_File_close(&file_));
}

/* Each access of a thread is of one value, with holes between its bytes. */
static void* access_atomically(void* argument) {
  const int thread = *(const int*)argument;
  unsigned char* const data = malloc(kBytes);
  for (int turn = 0; turn < kTurns; ++turn) {
    memset(data, 1 + rank_ * kThreads + thread, kBytes);
    DO(MPI_File_write_at(file_, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    DO(MPI_File_read_at(file_, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 1; i < kBytes; ++i)
      CHECK(data[i] == data[0], "turn %d: bytes of accesses %d and %d are mixed", turn, data[0], data[i]);
  }
  free(data);
  return NULL;
}

static void atomic_threads(void) {
  MPI_Datatype strided;
  MPI_Type_create_resized(MPI_BYTE, 0, 3, &strided);
  MPI_Type_commit(&strided);
  DO(MPI_File_open(MPI_COMM_WORLD, path_, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file_));
  DO(MPI_File_set_view(file_, 0, MPI_BYTE, strided, "native", MPI_INFO_NULL));
  DO(MPI_File_set_atomicity(file_, 1));
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, access_atomically, &numbers[i]) == 0, "no thread");
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  DO(MPI_File_close(&file_));
  MPI_Type_free(&strided);
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(provided == MPI_THREAD_MULTIPLE, "the level of threads is %d", provided);
  pipes();
  snprintf(path_, sizeof path_, "%s", shared_name("atomic"));
  if (getenv("HEARTH_SIMULATED_NODES") != NULL) {
    locked_ranges();
  } else {
    DO(MPI_File_open(MPI_COMM_WORLD, path_, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file_));
    DO(MPI_File_close(&file_));
  }
  atomic_threads();
  MPI_Finalize();
  return 0;
}
