/* Effects of the calls on files other than moving data, and their errors (MPI 5.0 chapter 14). random.c
 * compares the data. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "file.h"

static void open_errors(void) {
  MPI_File file;
  const char* const name = shared_name("open");
  const MPI_Comm world = MPI_COMM_WORLD;
  FAILS(MPI_File_open(world, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
  FAILS(MPI_File_open(world, "/tmp", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);
  FAILS(MPI_File_open(world, "/dev/null/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
  FAILS(MPI_File_open(world, name, MPI_MODE_CREATE, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
  FAILS(MPI_File_open(world, name, MPI_MODE_RDWR | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
  FAILS(MPI_File_open(world, name, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
  FAILS(MPI_File_open(world, name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
  FAILS(MPI_File_open(world, name, 1 << 20 | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
  if (size_ > 1) {
    const int amode = rank_ == 0 ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
    FAILS(MPI_File_open(world, name, amode, MPI_INFO_NULL, &file), MPI_ERR_NOT_SAME);
    /* Between machines the same file has other numbers, so they cannot be compared. */
    if (getenv("HEARTH_SIMULATED_NODES") == NULL) {
      const char* const each = rank_ == 0 ? "/dev/null" : "/dev/zero";
      FAILS(MPI_File_open(world, each, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NOT_SAME);
    }
    FAILS(MPI_File_open(world, rank_ == 0 ? "/dev/null" : name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
          MPI_ERR_NO_SUCH_FILE);
  }
  DO(MPI_File_open(world, name, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
  char byte = 0;
  FAILS(MPI_File_read_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  DO(MPI_File_write_at(file, rank_, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  DO(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL, "the handle is not null after the close");
  FAILS(MPI_File_close(&file), MPI_ERR_FILE);
  FAILS(MPI_File_sync(file), MPI_ERR_FILE);
  FAILS(MPI_File_open(world, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &file),
        MPI_ERR_FILE_EXISTS);
  DO(MPI_File_open(world, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  FAILS(MPI_File_write_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  FAILS(MPI_File_read_at(file, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  FAILS(MPI_File_read_at(file, 0, &byte, -1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  FAILS(MPI_File_read_at(file, 0, NULL, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  MPI_Status status;
  DO(MPI_File_read_at(file, size_ + 10, &byte, 1, MPI_BYTE, &status));
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 0, "a read beyond the end has %d bytes", count);
  int amode = 0;
  DO(MPI_File_get_amode(file, &amode));
  CHECK(amode == MPI_MODE_RDONLY, "amode is %d", amode);
  CHECK(MPI_File_fromint(MPI_File_toint(file)) == file, "the number of the handle leads elsewhere");
  DO(MPI_File_close(&file));
  MPI_Barrier(world);
  if (rank_ == 0) DO(MPI_File_delete(name, MPI_INFO_NULL));
  if (rank_ == 0) FAILS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  MPI_Barrier(world);
}

static void pointers(void) {
  MPI_File file = open_new("pointers");
  MPI_Offset offset = -1, size = -1;
  int values[4] = {rank_, rank_, rank_, rank_}, read[4];
  DO(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  DO(MPI_File_seek(file, 4 * rank_, MPI_SEEK_SET));
  DO(MPI_File_write(file, values, 4, MPI_INT, MPI_STATUS_IGNORE));
  DO(MPI_File_get_position(file, &offset));
  CHECK(offset == 4 * rank_ + 4, "the pointer is at %lld", (long long)offset);
  DO(MPI_File_sync(file));
  DO(MPI_File_get_size(file, &size));
  CHECK(size == 8 + 16 * size_, "the file has %lld bytes", (long long)size);
  DO(MPI_File_seek(file, -4, MPI_SEEK_END));
  DO(MPI_File_get_position(file, &offset));
  CHECK(offset == 4 * size_ - 4, "the end is at %lld", (long long)offset);
  DO(MPI_File_read(file, read, 4, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(read[0] == size_ - 1 && read[3] == size_ - 1, "%d at the end", read[0]);
  DO(MPI_File_seek(file, -4, MPI_SEEK_CUR));
  FAILS(MPI_File_seek(file, -4 * size_, MPI_SEEK_CUR), MPI_ERR_ARG);
  DO(MPI_File_get_position(file, &offset));
  CHECK(offset == 4 * size_ - 4, "a refused seek moved the pointer to %lld", (long long)offset);
  FAILS(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
  FAILS(MPI_File_read_at(file, 0, read, 3, MPI_SHORT, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  /* A view with holes: one int of three. */
  MPI_Datatype filetype;
  MPI_Type_create_resized(MPI_INT, 0, 12, &filetype);
  MPI_Type_commit(&filetype);
  const MPI_Offset far = ((MPI_Offset)1 << 32) + 8;
  DO(MPI_File_set_view(file, far, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  DO(MPI_File_get_byte_offset(file, 1, &offset));
  CHECK(offset == far + 4, "etype 1 is at byte %lld", (long long)offset);
  DO(MPI_File_set_view(file, 4, MPI_INT, filetype, "native", MPI_INFO_NULL));
  DO(MPI_File_get_byte_offset(file, 5, &offset));
  CHECK(offset == 4 + 5 * 12, "etype 5 is at byte %lld", (long long)offset);
  DO(MPI_File_seek(file, 0, MPI_SEEK_END));
  DO(MPI_File_get_position(file, &offset));
  CHECK(offset == (8 + 16 * size_ - 4 + 11) / 12, "the end is at %lld", (long long)offset);
  MPI_Offset displacement;
  MPI_Datatype etype_used, filetype_used;
  char name[MPI_MAX_DATAREP_STRING];
  DO(MPI_File_get_view(file, &displacement, &etype_used, &filetype_used, name));
  CHECK(displacement == 4 && etype_used == MPI_INT && strcmp(name, "native") == 0, "another view");
  MPI_Type_free(&filetype_used);
  MPI_Type_free(&filetype);
  /* Sizes. */
  DO(MPI_File_set_size(file, 5));
  DO(MPI_File_preallocate(file, 9000));
  DO(MPI_File_get_size(file, &size));
  CHECK(size == 9000, "%lld bytes are allocated", (long long)size);
  FAILS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
  if (size_ > 1) FAILS(MPI_File_set_size(file, rank_), MPI_ERR_NOT_SAME);
  DO(MPI_File_close(&file));
}

static void views(void) {
  MPI_File file = open_new("views");
  const MPI_Info none = MPI_INFO_NULL;
  MPI_Datatype type;
  const int lengths[] = {1, 1}, down[] = {2, 0}, twice[] = {0, 0};
  FAILS(MPI_File_set_view(file, -8, MPI_INT, MPI_INT, "native", none), MPI_ERR_ARG);
  FAILS(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", none), MPI_ERR_ARG);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "unheard", none), MPI_ERR_UNSUPPORTED_DATAREP);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_SHORT, "native", none), MPI_ERR_TYPE);
  MPI_Type_indexed(2, lengths, down, MPI_INT, &type);
  MPI_Type_commit(&type);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, type, "native", none), MPI_ERR_TYPE);
  MPI_Type_free(&type);
  MPI_Type_indexed(2, lengths, twice, MPI_INT, &type);
  MPI_Type_commit(&type);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, type, "native", none), MPI_ERR_TYPE);
  MPI_Type_free(&type);
  const MPI_Aint before[] = {-8};
  MPI_Type_create_hindexed(1, lengths, before, MPI_INT, &type);
  MPI_Type_commit(&type);
  FAILS(MPI_File_set_view(file, 0, MPI_INT, type, "native", none), MPI_ERR_TYPE);
  MPI_Type_free(&type);
  /* The failed calls left the view. */
  MPI_Offset offset = 0;
  DO(MPI_File_get_byte_offset(file, 3, &offset));
  CHECK(offset == 3, "byte 3 is at %lld", (long long)offset);
  /* An empty filetype: no data can be accessed. */
  MPI_Type_contiguous(0, MPI_INT, &type);
  MPI_Type_commit(&type);
  DO(MPI_File_set_view(file, 0, MPI_INT, type, "native", none));
  int value = 0;
  DO(MPI_File_write_at(file, 0, &value, 0, MPI_INT, MPI_STATUS_IGNORE));
  FAILS(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_IO);
  MPI_Type_free(&type);
  FAILS(MPI_File_write_at(file, INT64_MAX / 2, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_IO);
  DO(MPI_File_close(&file));
}

enum { kRecords = 50, kRecordInts = 16 };

static void shared_pointer(void) {
  MPI_File file = open_new("shared");
  int record[kRecordInts];
  DO(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int i = 0; i < kRecords; ++i) {
    for (int k = 0; k < kRecordInts; ++k) record[k] = rank_ * kRecords + i;
    if (i % 2 == 0) {
      DO(MPI_File_write_shared(file, record, kRecordInts, MPI_INT, MPI_STATUS_IGNORE));
    } else {
      MPI_Request request;
      DO(MPI_File_iwrite_shared(file, record, kRecordInts, MPI_INT, &request));
      DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Offset offset = -1;
  DO(MPI_File_get_position_shared(file, &offset));
  CHECK(offset == (MPI_Offset)kRecords * kRecordInts * size_, "the shared pointer is at %lld",
        (long long)offset);
  int seen[64 * kRecords] = {0};
  for (int i = 0; i < kRecords * size_; ++i) {
    DO(MPI_File_read_at(file, i * kRecordInts, record, kRecordInts, MPI_INT, MPI_STATUS_IGNORE));
    for (int k = 1; k < kRecordInts; ++k) CHECK(record[k] == record[0], "record %d is mixed", i);
    ++seen[record[0]];
  }
  for (int i = 0; i < kRecords * size_; ++i) CHECK(seen[i] == 1, "record %d is there %d times", i, seen[i]);
  /* Ordered: rank r writes r + 1 ints. */
  DO(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
  for (int k = 0; k < kRecordInts; ++k) record[k] = rank_;
  const int own = rank_ % kRecordInts + 1;
  for (int turn = 0; turn < 3; ++turn) {
    if (turn == 1) {
      DO(MPI_File_write_ordered_begin(file, record, own, MPI_INT));
      DO(MPI_File_write_ordered_end(file, record, MPI_STATUS_IGNORE));
    } else {
      DO(MPI_File_write_ordered(file, record, own, MPI_INT, MPI_STATUS_IGNORE));
    }
  }
  DO(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
  for (int turn = 0; turn < 3; ++turn) {
    memset(record, 0xff, sizeof record);
    DO(MPI_File_read_ordered(file, record, own, MPI_INT, MPI_STATUS_IGNORE));
    for (int k = 0; k < own; ++k) CHECK(record[k] == rank_, "turn %d: %d at %d", turn, record[k], k);
  }
  if (size_ > 1) FAILS(MPI_File_seek_shared(file, rank_, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
  FAILS(MPI_File_seek_shared(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  DO(MPI_File_close(&file));
}

static void split_and_nonblocking(void) {
  MPI_File file = open_new("split");
  int value = rank_, other = -1;
  DO(MPI_File_write_at_all_begin(file, 4 * rank_, &value, 4, MPI_BYTE));
  FAILS(MPI_File_write_all_begin(file, &value, 4, MPI_BYTE), MPI_ERR_OTHER);
  FAILS(MPI_File_read_at_all_end(file, &other, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  FAILS(MPI_File_close(&file), MPI_ERR_REQUEST);
  MPI_Status status;
  DO(MPI_File_write_at_all_end(file, &value, &status));
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1, "the split write has %d ints", count);
  FAILS(MPI_File_write_at_all_end(file, &value, &status), MPI_ERR_OTHER);
  DO(MPI_File_sync(file));
  /* Long accesses are moved by a thread. */
  enum { kLong = 1 << 18, kPieces = 6 };
  static unsigned char out[kPieces][kLong], in[kPieces][kLong];
  MPI_Request requests[kPieces];
  MPI_Status statuses[kPieces];
  for (int i = 0; i < kPieces; ++i) {
    memset(out[i], 16 * rank_ + i, kLong);
    DO(MPI_File_iwrite_at(file, ((MPI_Offset)rank_ * kPieces + i) * kLong, out[i], kLong, MPI_BYTE,
                          &requests[i]));
  }
  DO(MPI_Waitall(kPieces, requests, statuses));
  for (int i = 0; i < kPieces; ++i) {
    MPI_Get_count(&statuses[i], MPI_BYTE, &count);
    CHECK(count == kLong, "access %d wrote %d bytes", i, count);
    DO(MPI_File_iread_at(file, ((MPI_Offset)rank_ * kPieces + i) * kLong, in[i], kLong, MPI_BYTE,
                         &requests[i]));
  }
  FAILS(MPI_File_close(&file), MPI_ERR_REQUEST);
  int flag = 0;
  while (!flag) DO(MPI_Testall(kPieces, requests, &flag, MPI_STATUSES_IGNORE));
  CHECK(memcmp(in, out, sizeof in) == 0, "other data read than written");
  /* The individual pointer moves at the call. */
  MPI_Offset offset = 0;
  DO(MPI_File_seek(file, 5, MPI_SEEK_SET));
  DO(MPI_File_iread(file, in[0], kLong, MPI_BYTE, &requests[0]));
  DO(MPI_File_get_position(file, &offset));
  CHECK(offset == 5 + kLong, "the pointer is at %lld", (long long)offset);
  DO(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  DO(MPI_File_close(&file));
}

/* The remaining forms of access, each for one int of each rank. */
static void other_forms(void) {
  MPI_File file = open_new("forms");
  const int value = rank_ + 1;
  int read = -1, sum = 0;
  MPI_Request request;
  DO(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  DO(MPI_File_iwrite_at_all(file, rank_, &value, 1, MPI_INT, &request));
  DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
  DO(MPI_File_seek(file, size_ + rank_, MPI_SEEK_SET));
  DO(MPI_File_iwrite(file, &value, 1, MPI_INT, &request));
  DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
  DO(MPI_File_seek(file, 2 * size_ + rank_, MPI_SEEK_SET));
  DO(MPI_File_write_all_begin(file, &value, 1, MPI_INT));
  DO(MPI_File_write_all_end(file, &value, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int part = 0; part < 3; ++part) {
    DO(MPI_File_iread_at_all(file, part * size_ + rank_, &read, 1, MPI_INT, &request));
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(read == value, "part %d has %d", part, read);
    read = -1;
    DO(MPI_File_seek(file, part * size_ + rank_, MPI_SEEK_SET));
    DO(MPI_File_read_all_begin(file, &read, 1, MPI_INT));
    DO(MPI_File_read_all_end(file, &read, MPI_STATUS_IGNORE));
    CHECK(read == value, "part %d has %d in a split read", part, read);
    read = -1;
    DO(MPI_File_read_ordered_begin(file, &read, 1, MPI_INT));
    DO(MPI_File_read_ordered_end(file, &read, MPI_STATUS_IGNORE));
    CHECK(read == value, "part %d has %d in order", part, read);
  }
  /* By the shared pointer the ranks read the ints in any order. */
  DO(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  DO(MPI_File_read_shared(file, &read, 1, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  int other = -1;
  DO(MPI_File_iread_shared(file, &other, 1, MPI_INT, &request));
  DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
  read += other;
  MPI_Allreduce(&read, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size_ * (size_ + 1), "the shared reads add up to %d", sum);
  DO(MPI_File_close(&file));
}

/* Overlapping writes in atomic mode: a read finds the data of one rank. */
static void atomic_mode(void) {
  MPI_File file = open_new("atomic");
  enum { kBytes = 40000, kTurns = 30 };
  static unsigned char out[kBytes], in[kBytes];
  MPI_Datatype strided;
  MPI_Type_vector(kBytes / 40, 10, 20, MPI_BYTE, &strided);
  MPI_Type_commit(&strided);
  DO(MPI_File_set_atomicity(file, 1));
  DO(MPI_File_set_view(file, 0, MPI_BYTE, strided, "native", MPI_INFO_NULL));
  memset(out, rank_ + 1, kBytes);
  for (int i = 0; i < kTurns; ++i) {
    DO(MPI_File_write_at(file, 0, out, kBytes / 4, MPI_BYTE, MPI_STATUS_IGNORE));
    DO(MPI_File_read_at(file, 0, in, kBytes / 4, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int k = 1; k < kBytes / 4; ++k) CHECK(in[k] == in[0], "turn %d: byte %d is of another write", i, k);
  }
  int flag = 0;
  DO(MPI_File_get_atomicity(file, &flag));
  CHECK(flag == 1, "not atomic");
  MPI_Type_free(&strided);
  DO(MPI_File_close(&file));
}

static MPI_File last_file_;
static int errors_;

static void on_error(MPI_File* file, int* code, ...) {
  (void)code;
  last_file_ = *file;
  ++errors_;
}

static void handlers_and_hints(void) {
  MPI_Errhandler handler, got;
  MPI_File_create_errhandler(on_error, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  MPI_File file = open_new("handlers");
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  CHECK(MPI_File_seek(file, -1, MPI_SEEK_SET) != MPI_SUCCESS && errors_ == 1 && last_file_ == file,
        "not called");
  DO(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK(errors_ == 1, "called although replaced");
  DO(MPI_File_set_errhandler(file, handler));
  DO(MPI_File_get_errhandler(file, &got));
  CHECK(got == handler, "another handler");
  DO(MPI_File_call_errhandler(file, MPI_ERR_IO));
  CHECK(errors_ == 2, "not called by hand");
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL];
  int flag = 0, length = sizeof value;
  DO(MPI_File_get_info(file, &info));
  MPI_Info_get_string(info, "romio_visibility_immediate", &length, value, &flag);
  CHECK(flag && strcmp(value, "true") == 0, "romio_visibility_immediate is not true");
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "unheard_of", "1");
  DO(MPI_File_set_info(file, info));
  MPI_Info_free(&info);
  DO(MPI_File_get_info(file, &info));
  length = sizeof value;
  MPI_Info_get_string(info, "cb_buffer_size", &length, value, &flag);
  CHECK(flag && strcmp(value, "65536") == 0, "cb_buffer_size was not kept");
  MPI_Info_get_string(info, "unheard_of", &length, value, &flag);
  CHECK(!flag, "an unknown hint was kept");
  MPI_Info_free(&info);
  MPI_Group group, world;
  int result = 0;
  DO(MPI_File_get_group(file, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &result);
  CHECK(result == MPI_IDENT, "another group");
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  DO(MPI_File_close(&file));
}

static void representations(void) {
  MPI_File file = open_new("external32");
  DO(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  const int value = 0x01020304 + rank_;
  DO(MPI_File_write_at_all(file, rank_, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Aint extent = 0;
  DO(MPI_File_get_type_extent(file, MPI_LONG, &extent));
  CHECK(extent == 4, "a long has %ld bytes in external32", (long)extent);
  DO(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  unsigned char bytes[4];
  DO(MPI_File_read_at(file, 4 * rank_, bytes, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 && bytes[3] == 4 + rank_, "not big-endian");
  MPI_Barrier(MPI_COMM_WORLD);
  /* A struct of a long and a double, of which every rank has every size-th: 12 bytes each in the file. */
  struct {
    long number;
    double real;
  } pairs[100], read[100];
  MPI_Datatype pair, filetype, resized;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 8}, places_in_file[] = {0, 4};
  const MPI_Datatype types[] = {MPI_LONG, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, types, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_create_struct(2, lengths, places_in_file, types, &filetype);
  MPI_Type_create_resized(filetype, 0, 12 * size_, &resized);
  MPI_Type_commit(&filetype);
  MPI_Type_commit(&resized);
  DO(MPI_File_set_view(file, 12 * rank_, filetype, resized, "external32", MPI_INFO_NULL));
  for (int i = 0; i < 100; ++i) {
    pairs[i].number = 1000 * rank_ - i;
    pairs[i].real = 0.5 * i + rank_;
  }
  MPI_Status status;
  int count = 0;
  DO(MPI_File_write_all(file, pairs, 100, pair, &status));
  MPI_Get_count(&status, pair, &count);
  CHECK(count == 100, "%d pairs are written", count);
  MPI_Offset size = 0, position = 0;
  DO(MPI_File_get_position(file, &position));
  CHECK(position == 100, "the pointer is at %lld", (long long)position);
  MPI_Barrier(MPI_COMM_WORLD);
  DO(MPI_File_get_size(file, &size));
  CHECK(size == 1200 * size_, "the file has %lld bytes", (long long)size);
  DO(MPI_File_read_at_all(file, 0, read, 100, pair, MPI_STATUS_IGNORE));
  CHECK(memcmp(read, pairs, sizeof read) == 0, "other pairs read than written");
  pairs[0].number = 1L << 40;
  FAILS(MPI_File_write_at(file, 0, pairs, 1, pair, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  MPI_Type_free(&pair);
  MPI_Type_free(&filetype);
  MPI_Type_free(&resized);
  DO(MPI_File_close(&file));
}

/* A representation of our own: an int as its value in four decimal digits. */
static int extent_of_ours(MPI_Datatype type, MPI_Aint* extent, void* state) {
  int size;
  MPI_Type_size(type, &size);
  *extent = size == 4 ? 4 : size;
  return state == &errors_ ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int write_ours(void* user, MPI_Datatype type, int count, void* in_file, MPI_Offset position,
                      void* state) {
  char text[8];
  for (int i = 0; i < count; ++i) {
    snprintf(text, sizeof text, "%04d", ((int*)user)[position + i] % 10000);
    memcpy((char*)in_file + 4 * i, text, 4);
  }
  (void)type;
  (void)state;
  return MPI_SUCCESS;
}

static int read_ours(void* user, MPI_Datatype type, int count, void* in_file, MPI_Offset position,
                     void* state) {
  for (int i = 0; i < count; ++i) {
    char text[5] = {0};
    memcpy(text, (char*)in_file + 4 * i, 4);
    ((int*)user)[position + i] = atoi(text);
  }
  (void)type;
  (void)state;
  return MPI_SUCCESS;
}

static void registered_representation(void) {
  DO(MPI_Register_datarep("decimal", read_ours, write_ours, extent_of_ours, &errors_));
  FAILS(MPI_Register_datarep("decimal", read_ours, write_ours, extent_of_ours, &errors_),
        MPI_ERR_DUP_DATAREP);
  FAILS(MPI_Register_datarep("native", read_ours, write_ours, extent_of_ours, &errors_), MPI_ERR_DUP_DATAREP);
  MPI_File file = open_new("decimal");
  DO(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "decimal", MPI_INFO_NULL));
  static int out[100000], in[100000];
  for (int i = 0; i < 100000; ++i) out[i] = (i + rank_) % 10000;
  DO(MPI_File_write_ordered(file, out, 100000, MPI_INT, MPI_STATUS_IGNORE));
  DO(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  DO(MPI_File_read_ordered(file, in, 100000, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(memcmp(in, out, sizeof in) == 0, "other numbers read than written");
  char name[MPI_MAX_DATAREP_STRING];
  MPI_Offset displacement;
  MPI_Datatype etype, filetype;
  DO(MPI_File_get_view(file, &displacement, &etype, &filetype, name));
  CHECK(strcmp(name, "decimal") == 0, "the representation is %s", name);
  DO(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
  char text[5] = {0};
  DO(MPI_File_read_at(file, 400000L * rank_ + 4 * 123, text, 4, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK(atoi(text) == 123 + rank_, "'%s' in the file", text);
  DO(MPI_File_close(&file));
}

static void special_files(void) {
  MPI_File file;
  char bytes[256] = "x";
  DO(MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
  DO(MPI_File_write_shared(file, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  DO(MPI_File_write_ordered(file, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  FAILS(MPI_File_write(file, bytes, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  FAILS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  DO(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  DO(MPI_File_sync(file));
  DO(MPI_File_close(&file));
  /* A full device. */
  DO(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  FAILS(MPI_File_write_at(file, 0, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  MPI_Request request;
  const int begun = MPI_File_iwrite_at(file, 0, bytes, 100, MPI_BYTE, &request);
  FAILS(begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  DO(MPI_File_close(&file));
  /* A limit on the length of files, for long and for strided writes. */
  file = open_new("limit");
  struct rlimit before, limit;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  limit = before;
  limit.rlim_cur = 8192;
  setrlimit(RLIMIT_FSIZE, &limit);
  MPI_Status status;
  int count = -1;
  FAILS(MPI_File_write_at(file, 8192 - 100, bytes, 256, MPI_BYTE, &status), MPI_ERR_NO_SPACE);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 100, "%d bytes were written up to the limit", count);
  static char many[100000];
  DO(MPI_File_iwrite_at(file, 4096, many, sizeof many, MPI_BYTE, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  MPI_Datatype strided;
  MPI_Type_create_resized(MPI_CHAR, 0, 100, &strided);
  MPI_Type_commit(&strided);
  DO(MPI_File_set_view(file, 0, MPI_CHAR, strided, "native", MPI_INFO_NULL));
  FAILS(MPI_File_write_at(file, 0, bytes, 256, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  MPI_Type_free(&strided);
  setrlimit(RLIMIT_FSIZE, &before);
  DO(MPI_File_close(&file));
  /* A pipe, by one rank alone. */
  if (rank_ == 0) {
    char name[600];
    snprintf(name, sizeof name, "/tmp/file_test_pipe.%d", (int)getpid());
    CHECK(mkfifo(name, 0600) == 0, "no pipe");
    const int reader = open(name, O_RDONLY | O_NONBLOCK);
    DO(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
    DO(MPI_File_write_shared(file, "hello", 5, MPI_CHAR, MPI_STATUS_IGNORE));
    CHECK(read(reader, bytes, sizeof bytes) == 5 && memcmp(bytes, "hello", 5) == 0, "the pipe is empty");
    DO(MPI_File_close(&file));
    close(reader);
    unlink(name);
  }
}

/* MPI_DISPLACEMENT_CURRENT is the position in the file, also after a view with holes. */
static void sequential_views(void) {
  const char* const name = shared_name("sequential");
  MPI_File file;
  MPI_Datatype filetype, etype, type;
  MPI_Offset displacement = -1;
  char representation[MPI_MAX_DATAREP_STRING];
  int value = rank_;
  DO(MPI_Type_create_resized(MPI_INT, 0, 16, &filetype));
  DO(MPI_Type_commit(&filetype));
  DO(MPI_File_open(MPI_COMM_WORLD, name,
                   MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  DO(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, filetype, "native", MPI_INFO_NULL));
  DO(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  DO(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  DO(MPI_File_get_view(file, &displacement, &etype, &type, representation));
  CHECK(displacement == 16 * size_, "the displacement is %lld", (long long)displacement);
  DO(MPI_File_close(&file));
  DO(MPI_Type_free(&filetype));
}

/* MPI_MODE_APPEND, offsets beyond 4 GiB, MPI_MODE_DELETE_ON_CLOSE. */
static void appended(void) {
  const char* const name = shared_name("append");
  MPI_File file;
  DO(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  DO(MPI_File_set_size(file, 1000));
  DO(MPI_File_close(&file));
  DO(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  MPI_Offset offset = 0;
  DO(MPI_File_get_position(file, &offset));
  CHECK(offset == 1000, "the pointer is at %lld", (long long)offset);
  DO(MPI_File_get_position_shared(file, &offset));
  CHECK(offset == 1000, "the shared pointer is at %lld", (long long)offset);
  char byte = 7;
  MPI_Count extent;
  DO(MPI_File_write_at_c(file, INT64_C(6000000000) + rank_, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  DO(MPI_File_get_type_extent_c(file, MPI_DOUBLE, &extent));
  byte = 0;
  DO(MPI_File_read_at_c(file, INT64_C(6000000000) + rank_, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(byte == 7 && extent == 8, "beyond 4 GiB");
  DO(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(access(name, F_OK) != 0, "the file was not deleted");
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  open_errors();
  pointers();
  views();
  shared_pointer();
  split_and_nonblocking();
  other_forms();
  atomic_mode();
  handlers_and_hints();
  representations();
  registered_representation();
  special_files();
  sequential_views();
  appended();
  MPI_Finalize();
  return 0;
}
