/* files OPERATION PATH...: operations on files that fail, or have to succeed, in the surroundings that
 * test_files.py makes. Rank 0 prints `OPERATION: CLASS: message` for each, or `OPERATION: success`. After a
 * failure the library stays usable: the files are closed, and MPI_Finalize succeeds. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPiece = 4 << 20, kHole = 16 << 20 };

static int rank_, size_;
static unsigned char data_[kPiece];
static const char* path_;
static MPI_File file_ = MPI_FILE_NULL;
static MPI_Datatype strided_; /* 64 bytes of 256, by each rank other ones */
static long long moved_;

static const char* name_of(int code) {
  static const struct {
    int error_class;
    const char* name;
  } names[] = {{MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE"},
               {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY"},
               {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE"},
               {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE"},
               {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS"},
               {MPI_ERR_ACCESS, "MPI_ERR_ACCESS"},
               {MPI_ERR_QUOTA, "MPI_ERR_QUOTA"},
               {MPI_ERR_IO, "MPI_ERR_IO"},
               {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE"},
               {MPI_ERR_TYPE, "MPI_ERR_TYPE"},
               {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION"}};
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (names[i].error_class == error_class) return names[i].name;
  }
  static char number[20];
  snprintf(number, sizeof number, "class %d", error_class);
  return number;
}

static void need(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "rank %d: %s fails: %s\n", rank_, call, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define NEED(call) need(call, #call)

static int open_with(int amode) {
  return MPI_File_open(MPI_COMM_WORLD, path_, amode, MPI_INFO_NULL, &file_);
}
static void view(const char* engine) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (engine != NULL) MPI_Info_set(info, "hearth_engine", engine);
  NEED(MPI_File_set_view(file_, 64 * rank_, MPI_BYTE, strided_, "native", info));
  MPI_Info_free(&info);
}
static int note(int code, const MPI_Status* status) {
  MPI_Count count = 0;
  MPI_Get_elements_c(status, MPI_BYTE, &count);
  moved_ = count;
  return code;
}

/* Opens. */
static int open_read(void) {
  return open_with(MPI_MODE_RDONLY);
}
static int open_write(void) {
  return open_with(MPI_MODE_WRONLY);
}
static int open_both(void) {
  return open_with(MPI_MODE_RDWR);
}
static int open_create(void) {
  return open_with(MPI_MODE_RDWR | MPI_MODE_CREATE);
}
static int open_new(void) {
  return open_with(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL);
}
static int delete_it(void) {
  return rank_ == 0 ? MPI_File_delete(path_, MPI_INFO_NULL) : MPI_SUCCESS;
}

/* Writes of more than fits. */
static int write_long(void) {
  MPI_Status status;
  NEED(open_create());
  return note(MPI_File_write_at(file_, (MPI_Offset)rank_ * kPiece, data_, kPiece, MPI_BYTE, &status),
              &status);
}
static int write_strided_by(const char* engine) {
  MPI_Status status;
  NEED(open_create());
  view(engine);
  return note(MPI_File_write(file_, data_, kPiece, MPI_BYTE, &status), &status);
}
static int write_strided(void) {
  return write_strided_by(NULL);
}
static int write_mapped(void) {
  return write_strided_by("map");
}
/* The file is long enough already, as a hole: stores find no page. */
static int write_hole(void) {
  MPI_Status status;
  NEED(open_create());
  NEED(MPI_File_set_size(file_, kHole));
  view("map");
  return note(MPI_File_write(file_, data_, kPiece / 4, MPI_BYTE, &status), &status);
}
static int write_together(void) {
  MPI_Status status;
  NEED(open_create());
  view("window");
  return note(MPI_File_write_all(file_, data_, kPiece, MPI_BYTE, &status), &status);
}
static int write_later(void) {
  MPI_Request request;
  MPI_Status status;
  NEED(open_create());
  NEED(MPI_File_iwrite_at(file_, (MPI_Offset)rank_ * kPiece, data_, kPiece, MPI_BYTE, &request));
  return note(MPI_Wait(&request, &status), &status);
}
static int write_shared(void) {
  MPI_Status status;
  NEED(open_create());
  return note(MPI_File_write_shared(file_, data_, kPiece, MPI_BYTE, &status), &status);
}
static int write_ordered(void) {
  MPI_Status status;
  NEED(open_create());
  return note(MPI_File_write_ordered(file_, data_, kPiece, MPI_BYTE, &status), &status);
}
static int preallocate(void) {
  NEED(open_create());
  return MPI_File_preallocate(file_, kHole);
}
static int set_size(void) {
  NEED(open_create());
  return MPI_File_set_size(file_, kHole);
}
static int synchronise(void) {
  NEED(open_create());
  NEED(MPI_File_write_at(file_, rank_, data_, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  return MPI_File_sync(file_);
}
static int read_some(void) {
  NEED(open_read());
  return MPI_File_read_at(file_, 0, data_, 10, MPI_BYTE, MPI_STATUS_IGNORE);
}

/* Devices and pipes. */
static int write_in_sequence(void) {
  char line[40];
  snprintf(line, sizeof line, "rank %d writes\n", rank_);
  const int code = open_with(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  if (code != MPI_SUCCESS) return code;
  return MPI_File_write_ordered(file_, line, (int)strlen(line), MPI_CHAR, MPI_STATUS_IGNORE);
}
static int view_with_holes(void) {
  NEED(open_with(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL));
  return MPI_File_set_view(file_, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, strided_, "native", MPI_INFO_NULL);
}

/* More than 2 GiB in one call, from and to 1 MiB of memory that is mapped many times. */
static unsigned char* repeated_memory(size_t bytes) {
  const size_t piece = 1 << 20;
  const int memory = memfd_create("repeated", MFD_CLOEXEC);
  if (memory < 0 || ftruncate(memory, (off_t)piece) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  unsigned char* const begin =
      mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (size_t i = 0; i < bytes; i += piece) {
    if (mmap(begin + i, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) == MAP_FAILED)
      MPI_Abort(MPI_COMM_WORLD, 1);
  }
  close(memory);
  return begin;
}
static int move_3_gib(void) {
  const MPI_Count bytes = (MPI_Count)3 << 30;
  MPI_Status status;
  unsigned char* const memory = repeated_memory((size_t)bytes);
  const char* const given = path_;
  path_ = "/dev/null";
  NEED(open_with(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL));
  NEED(note(MPI_File_write_shared_c(file_, memory, bytes, MPI_BYTE, &status), &status));
  NEED(MPI_File_close(&file_));
  if (moved_ != bytes) return MPI_ERR_IO;
  path_ = given;
  NEED(open_create());
  /* A hole, and one byte where the last byte of the read goes. */
  if (rank_ == 0) NEED(MPI_File_write_at(file_, 100 + bytes - 1, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  NEED(note(MPI_File_read_at_c(file_, 100, memory, bytes, MPI_BYTE, &status), &status));
  if (moved_ != bytes || memory[bytes - 1] != 'x') return MPI_ERR_IO;
  munmap(memory, (size_t)bytes);
  return MPI_SUCCESS;
}
/* Beyond 4 GiB, by each engine. */
static int move_far(void) {
  static const char* const engines[] = {"calls", "map", "window"};
  NEED(open_create());
  for (int i = 0; i < 3; ++i) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "hearth_engine", engines[i]);
    const MPI_Offset far = ((MPI_Offset)(5 + i) << 30) + 64 * rank_;
    NEED(MPI_File_set_view(file_, far, MPI_BYTE, strided_, "native", info));
    MPI_Info_free(&info);
    memset(data_, rank_ + 1, 6400);
    NEED(MPI_File_write_at_all(file_, 0, data_, 6400, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    NEED(MPI_File_set_view(file_, (MPI_Offset)(5 + i) << 30, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    NEED(MPI_File_read_at(file_, 0, data_, 6400, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int byte = 0; byte < 6400; ++byte) {
      const int owner = byte / 64 % size_ + 1;
      if (data_[byte] != owner) {
        fprintf(stderr, "%s: byte %d is %d, not %d\n", engines[i], byte, data_[byte], owner);
        return MPI_ERR_IO;
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Offset length = 0;
  NEED(MPI_File_get_size(file_, &length));
  return length > (MPI_Offset)7 << 30 ? MPI_SUCCESS : MPI_ERR_IO;
}

static const struct {
  const char* name;
  int (*run)(void);
} operations[] = {
    {"open_read", open_read},
    {"open_write", open_write},
    {"open_both", open_both},
    {"open_create", open_create},
    {"open_new", open_new},
    {"delete", delete_it},
    {"write_long", write_long},
    {"write_strided", write_strided},
    {"write_mapped", write_mapped},
    {"write_hole", write_hole},
    {"write_together", write_together},
    {"write_later", write_later},
    {"write_shared", write_shared},
    {"write_ordered", write_ordered},
    {"preallocate", preallocate},
    {"set_size", set_size},
    {"sync", synchronise},
    {"read", read_some},
    {"write_in_sequence", write_in_sequence},
    {"view_with_holes", view_with_holes},
    {"move_3_gib", move_3_gib},
    {"move_far", move_far},
};

static int run(const char* name) {
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; ++i) {
    if (strcmp(operations[i].name, name) == 0) return operations[i].run();
  }
  fprintf(stderr, "there is no operation %s\n", name);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Datatype block;
  MPI_Type_contiguous(64, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, 64 * (size_ > 1 ? size_ : 4), &strided_);
  MPI_Type_commit(&strided_);
  memset(data_, rank_ + 1, sizeof data_);
  for (int i = 1; i + 1 < argc; i += 2) {
    path_ = argv[i + 1];
    moved_ = 0;
    const int code = run(argv[i]);
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    /* All ranks fail alike here: each alone needs more than there is. */
    int failed[2] = {code != MPI_SUCCESS, code == MPI_SUCCESS};
    MPI_Allreduce(MPI_IN_PLACE, failed, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed[0] && failed[1] && strcmp(argv[i], "delete") != 0) {
      fprintf(stderr, "rank %d: %s: %s\n", rank_, argv[i], code == MPI_SUCCESS ? "success" : text);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank_ == 0 && code != MPI_SUCCESS) printf("%s: %s: %lld: %s\n", argv[i], name_of(code), moved_, text);
    if (rank_ == 0 && code == MPI_SUCCESS) printf("%s: success\n", argv[i]);
    fflush(stdout);
    if (file_ != MPI_FILE_NULL) NEED(MPI_File_close(&file_));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&strided_);
  MPI_Type_free(&block);
  MPI_Finalize();
  return 0;
}
