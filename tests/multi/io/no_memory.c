/* Each allocation of the library in a collective call on a file fails in turn, on one rank: no rank waits for
 * another one, and calls that change the state of the file have the same outcome on all ranks. Preloads
 * tests/chaos/failing_malloc.c. */
#include <dlfcn.h>

#include "file.h"

enum { kBytes = 4096, kAllocationsMax = 1000 };

static int (*fail_at_)(long n);
static MPI_File file_ = MPI_FILE_NULL;
static MPI_Datatype strided_;
static MPI_Info info_;
static char path_[512];
static unsigned char data_[kBytes];

static int open_it(void) {
  return MPI_File_open(MPI_COMM_WORLD, path_, MPI_MODE_RDWR | MPI_MODE_CREATE, info_, &file_);
}
static int open_at_end(void) {
  return MPI_File_open(MPI_COMM_WORLD, path_, MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_INFO_NULL, &file_);
}
static int set_view(void) {
  return MPI_File_set_view(file_, 16 * rank_, MPI_INT, strided_, "native", info_);
}
static int set_size(void) {
  return MPI_File_set_size(file_, 100000);
}
static int preallocate(void) {
  return MPI_File_preallocate(file_, 200000);
}
static int seek_shared(void) {
  return MPI_File_seek_shared(file_, 3, MPI_SEEK_END);
}
static int set_atomicity(void) {
  return MPI_File_set_atomicity(file_, 0);
}
static int sync_it(void) {
  return MPI_File_sync(file_);
}
static int close_it(void) {
  return MPI_File_close(&file_);
}
static int write_all(void) {
  return MPI_File_write_at_all(file_, 0, data_, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
}
static int read_all(void) {
  return MPI_File_read_at_all(file_, 0, data_, kBytes / (16 * size_), strided_, MPI_STATUS_IGNORE);
}
static int write_ordered(void) {
  return MPI_File_write_ordered(file_, data_, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
}
static int read_ordered(void) {
  return MPI_File_read_ordered(file_, data_, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
}
static int write_split(void) {
  const int begun = MPI_File_write_all_begin(file_, data_, kBytes, MPI_BYTE);
  return begun != MPI_SUCCESS ? begun : MPI_File_write_all_end(file_, data_, MPI_STATUS_IGNORE);
}
static int write_later(void) {
  MPI_Request request;
  const int begun = MPI_File_iwrite_at_all(file_, 0, data_, kBytes, MPI_BYTE, &request);
  return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Runs the call until none of its allocations fails on the victim. Returns how many have failed. `equal`: the
 * outcome has to be the same on all ranks. */
static int sweep(const char* name, int (*call)(void), int victim, int equal, int (*undo)(void)) {
  for (int n = 1; n < kAllocationsMax; ++n) {
    if (rank_ == victim) fail_at_(n);
    const int code = call();
    int failed = rank_ == victim ? fail_at_(0) : 0;
    int classes[2] = {class_of(code), -class_of(code)};
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, classes, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_NO_MEM, "%s, allocation %d of rank %d: %s", name,
          n, victim, words_of(code));
    CHECK(!equal || classes[0] == -classes[1], "%s, allocation %d of rank %d: class %d here", name, n, victim,
          class_of(code));
    /* A file is closed also if the call fails. */
    if (undo != NULL && failed && (code == MPI_SUCCESS || undo == open_it)) DO(undo());
    if (!failed) {
      CHECK(code == MPI_SUCCESS, "%s fails with all its memory: %s", name, words_of(code));
      return n - 1;
    }
  }
  CHECK(0, "%s has no end of allocations", name);
  return 0;
}

/* Each allocation of an independent access fails in turn: the access releases its reference to the datatype,
 * so that MPI_Type_free destroys it, and the next datatype takes the slot (base/pool.h) and thus the handle.
 */
static void check_references(const char* name, int writing) {
  for (int n = 1, failed = 1; failed; ++n) {
    CHECK(n < kAllocationsMax, "%s has no end of allocations", name);
    const int count = kBytes / (16 * size_);
    MPI_Datatype copy, next;
    DO(MPI_Type_dup(strided_, &copy));
    const MPI_Datatype handle = copy;
    fail_at_(n);
    const int code = writing ? MPI_File_write_at(file_, 0, data_, count, copy, MPI_STATUS_IGNORE)
                             : MPI_File_read_at(file_, 0, data_, count, copy, MPI_STATUS_IGNORE);
    failed = fail_at_(0);
    CHECK(class_of(code) == (failed ? MPI_ERR_NO_MEM : MPI_SUCCESS), "%s, allocation %d: %s", name, n,
          words_of(code));
    CHECK(failed || n > 1, "%s has no allocations", name);
    DO(MPI_Type_free(&copy));
    DO(MPI_Type_dup(strided_, &next));
    CHECK(next == handle, "%s, allocation %d: the freed datatype still exists", name, n);
    DO(MPI_Type_free(&next));
  }
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  *(void**)&fail_at_ = dlsym(RTLD_DEFAULT, "failing_malloc_at");
  CHECK(fail_at_ != NULL, "failing_malloc is not preloaded");
  snprintf(path_, sizeof path_, "%s", shared_name("no_memory"));
  MPI_Datatype block;
  MPI_Type_contiguous(4, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, 16 * size_, &strided_);
  MPI_Type_commit(&strided_);
  MPI_Info_create(&info_);
  MPI_Info_set(info_, "hearth_engine", "window");
  MPI_Info_set(info_, "cb_buffer_size", "8192");
  int all = 0; /* first collectives of the communicator, and memory that later calls recycle */
  MPI_Allreduce(&rank_, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int victim = 0; victim < size_; ++victim) {
    int opening = sweep("MPI_File_open", open_it, victim, 1, close_it);
    CHECK(opening > 3, "opening has %d allocations", opening);
    sweep("MPI_File_set_view", set_view, victim, 1, NULL);
    check_references("MPI_File_write_at", 1);
    check_references("MPI_File_read_at", 0);
    sweep("MPI_File_write_at_all", write_all, victim, 0, NULL);
    sweep("MPI_File_read_at_all", read_all, victim, 0, NULL);
    sweep("MPI_File_write_all_begin", write_split, victim, 0, NULL);
    sweep("MPI_File_iwrite_at_all", write_later, victim, 0, NULL);
    sweep("MPI_File_write_ordered", write_ordered, victim, 0, NULL);
    sweep("MPI_File_seek_shared", seek_shared, victim, 1, NULL);
    sweep("MPI_File_read_ordered", read_ordered, victim, 0, NULL);
    sweep("MPI_File_set_size", set_size, victim, 1, NULL);
    sweep("MPI_File_preallocate", preallocate, victim, 1, NULL);
    sweep("MPI_File_set_atomicity", set_atomicity, victim, 1, NULL);
    sweep("MPI_File_sync", sync_it, victim, 1, NULL);
    sweep("MPI_File_close", close_it, victim, 1, open_it);
    sweep("MPI_File_open at the end", open_at_end, victim, 1, close_it);
    DO(close_it());
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) DO(MPI_File_delete(path_, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Info_free(&info_);
  MPI_Type_free(&strided_);
  MPI_Type_free(&block);
  MPI_Finalize();
  return 0;
}
