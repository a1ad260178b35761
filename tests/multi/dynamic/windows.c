/* Windows and files on a communicator of several jobs: accesses that use shared memory within a job use
 * messages between jobs. */
#include <unistd.h>

#include "joint.h"

static void check_window(MPI_Comm comm, int allocate) {
  enum { kEach = 1000 };
  int size, rank;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  const MPI_Aint bytes = (MPI_Aint)((size_t)kEach * (size_t)size * sizeof(int));
  int* memory = NULL;
  MPI_Win window = MPI_WIN_NULL;
  if (allocate) {
    MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, comm, &memory, &window);
  } else {
    memory = malloc((size_t)bytes);
    MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, comm, &window);
  }
  CHECK(window != MPI_WIN_NULL && memory != NULL, "there is no window");
  memset(memory, 0, (size_t)bytes);
  MPI_Win_fence(0, window);
  int mine[kEach];
  for (int i = 0; i < kEach; ++i) mine[i] = 1000 * rank + i;
  for (int r = 0; r < size; ++r)
    MPI_Put(mine, kEach, MPI_INT, r, (MPI_Aint)kEach * rank, kEach, MPI_INT, window);
  MPI_Win_fence(0, window);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < kEach; ++i)
      CHECK(memory[kEach * r + i] == 1000 * r + i, "word %d of rank %d is %d", i, r, memory[kEach * r + i]);
  }
  MPI_Win_fence(0, window);
  memory[0] = 0;
  MPI_Barrier(comm);
  const int one = 1;
  int before = -1;
  MPI_Win_lock_all(0, window);
  for (int r = 0; r < size; ++r) MPI_Fetch_and_op(&one, &before, MPI_INT, r, 0, MPI_SUM, window);
  MPI_Win_flush_all(window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  CHECK(memory[0] == size, "%d processes were counted, not %d", memory[0], size);
  MPI_Win_unlock(rank, window);
  int other[kEach];
  const int next = (rank + 1) % size;
  MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window);
  MPI_Get(other, kEach, MPI_INT, next, kEach, kEach, MPI_INT, window);
  MPI_Win_unlock(next, window);
  CHECK(size == 1 || other[7] == 1007, "MPI_Get brought %d", other[7]);
  MPI_Win_free(&window);
  if (!allocate) free(memory);
}

static void check_shared(MPI_Comm merged) {
  int* memory;
  MPI_Win window;
  MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
  const int code = MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, merged, &memory, &window);
  CHECK(class_of(code) == MPI_ERR_RMA_SHARED, "MPI_Win_allocate_shared between jobs: class %d",
        class_of(code));
  MPI_Comm shared;
  MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, shared, &memory, &window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Comm_free(&shared);
}

static void check_file(MPI_Comm comm, const char* name) {
  enum { kEach = 100 };
  int size, rank, mine[kEach], other[kEach];
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_File file;
  int code = MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file);
  CHECK(code == MPI_SUCCESS, "MPI_File_open: class %d", class_of(code));
  for (int i = 0; i < kEach; ++i) mine[i] = 1000 * rank + i;
  MPI_File_write_at_all(file, (MPI_Offset)rank * (MPI_Offset)sizeof mine, mine, kEach, MPI_INT,
                        MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(comm);
  const int next = (rank + 1) % size;
  MPI_File_read_at_all(file, (MPI_Offset)next * (MPI_Offset)sizeof mine, other, kEach, MPI_INT,
                       MPI_STATUS_IGNORE);
  CHECK(other[5] == 1000 * next + 5, "the file has %d", other[5]);
  int one = 1;
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_write_shared(file, &one, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Barrier(comm);
  MPI_Offset position;
  MPI_File_get_position_shared(file, &position);
  CHECK(position == (MPI_Offset)size * (MPI_Offset)sizeof one, "the shared pointer is %lld",
        (long long)position);
  MPI_Barrier(comm);
  code = MPI_File_close(&file);
  CHECK(code == MPI_SUCCESS, "MPI_File_close: class %d", class_of(code));
}

static void check_all(MPI_Comm inter, int high, char* name) {
  MPI_Comm merged;
  MPI_Intercomm_merge(inter, high, &merged);
  MPI_Bcast(name, 256, MPI_CHAR, 0, merged);
  check_window(merged, 1);
  check_window(merged, 0);
  check_shared(merged);
  check_file(merged, name);
  MPI_Comm_free(&merged);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  char name[256] = "";
  MPI_Comm inter;
  MPI_Comm_get_parent(&inter);
  const int is_child = inter != MPI_COMM_NULL;
  if (!is_child) {
    snprintf(name, sizeof name, "dynamic_windows.%d.%d", size_, (int)getpid());
    const int code = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                                    MPI_ERRCODES_IGNORE);
    CHECK(code == MPI_SUCCESS, "MPI_Comm_spawn returned class %d", class_of(code));
  }
  check_all(inter, is_child, name);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  return 0;
}
