/* Times accesses to files: bench/compare_files runs this program under several MPI libraries in turn.
 *
 *   files FILE CASE...
 *
 * Each case prints "case seconds bytes": the time of the slowest rank for one pass over about 16 MiB (fewer
 * for short records), the best of some passes, and the bytes of all ranks. Data read are compared with the
 * data written, outside of the measured time. Plain C and MPI 3.1. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { passes = 5, memory_bytes = 16 << 20 };

static int rank, ranks;
static unsigned char *data, *found;
static MPI_File file;

static void must(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "files: %s fails\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_file(const char* name) {
  must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file), "open");
}

/* Blocks of this length, those of all ranks in turn; the blocks of a rank are `distance` ranks apart. */
static void set_strided_view(int block, int distance) {
  MPI_Datatype one, filetype;
  MPI_Type_contiguous(block, MPI_BYTE, &one);
  MPI_Type_create_resized(one, 0, (MPI_Aint)block * distance, &filetype);
  MPI_Type_commit(&filetype);
  must(MPI_File_set_view(file, (MPI_Offset)block * rank, MPI_BYTE, filetype, "native", MPI_INFO_NULL),
       "set_view");
  MPI_Type_free(&one);
  MPI_Type_free(&filetype);
}

enum form { independent, collective, shared, ordered, nonblocking };

static void transfer(int writes, enum form form, unsigned char* at, int record, int bytes) {
  int done;
  if (form == independent || form == collective) {
    int code;
    if (writes) {
      code = form == collective ? MPI_File_write_at_all(file, 0, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                                : MPI_File_write_at(file, 0, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    } else {
      code = form == collective ? MPI_File_read_at_all(file, 0, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                                : MPI_File_read_at(file, 0, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    must(code, "transfer");
    return;
  }
  for (done = 0; done < bytes; done += record) {
    if (form == shared) {
      must(MPI_File_write_shared(file, at + done, record, MPI_BYTE, MPI_STATUS_IGNORE), "write_shared");
    } else if (form == ordered) {
      must(MPI_File_write_ordered(file, at + done, record, MPI_BYTE, MPI_STATUS_IGNORE), "write_ordered");
    } else {
      MPI_Request requests[64];
      int i;
      for (i = 0; i < 64; ++i)
        must(MPI_File_iwrite_at(file, (MPI_Offset)rank * bytes + done + i * record, at + done + i * record,
                                record, MPI_BYTE, &requests[i]),
             "iwrite_at");
      MPI_Waitall(64, requests, MPI_STATUSES_IGNORE);
      done += 63 * record;
    }
  }
}

/* Each record by a call of its own, at consecutive places. */
static void write_records(int record, int bytes) {
  int done;
  for (done = 0; done < bytes; done += record)
    must(MPI_File_write_at(file, (MPI_Offset)rank * bytes + done, data + done, record, MPI_BYTE,
                           MPI_STATUS_IGNORE),
         "write_at");
}

static double timed(const char* kind, int writes, enum form form, int record, int bytes) {
  double begin, own, slowest;
  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  if (strcmp(kind, "records") == 0 || strcmp(kind, "atomic") == 0) {
    write_records(record, bytes);
  } else {
    transfer(writes, form, writes ? data : found, record, bytes);
  }
  own = MPI_Wtime() - begin;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* "write:64", "fresh:64", "read:64", "write_all:64", "read_all:64", "shared:64", "ordered:64", "records:64",
 * "atomic:64", "iwrite:4096", "preallocate:0" */
static void run_case(const char* name, const char* word) {
  char kind[32];
  int record = 0, pass;
  double best = 1e9;
  sscanf(word, "%31[a-z_]:%d", kind, &record);
  const int strided =
      strncmp(kind, "write", 5) == 0 || strncmp(kind, "read", 4) == 0 || strcmp(kind, "fresh") == 0;
  const int reads = strncmp(kind, "read", 4) == 0 && strcmp(kind, "records") != 0;
  const int of_records = strcmp(kind, "records") == 0;
  const enum form form = strstr(kind, "_all") != NULL   ? collective
                         : strcmp(kind, "shared") == 0  ? shared
                         : strcmp(kind, "ordered") == 0 ? ordered
                         : strcmp(kind, "iwrite") == 0  ? nonblocking
                                                        : independent;
  int bytes = strided && !of_records ? 4 << 20 : record < 4096 ? 4000 * record : 4 << 20;
  if (bytes > memory_bytes) bytes = memory_bytes;
  if (form == nonblocking) bytes = bytes / (64 * record) * 64 * record;
  for (pass = 0; pass < passes; ++pass) {
    double took;
    if (pass == 0 || strcmp(kind, "fresh") == 0 || strcmp(kind, "preallocate") == 0) {
      if (pass > 0) MPI_File_close(&file);
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
      MPI_Barrier(MPI_COMM_WORLD);
      open_file(name);
      if (strided && !of_records) set_strided_view(record, ranks);
      if (strcmp(kind, "atomic") == 0) MPI_File_set_atomicity(file, 1);
      if (reads) transfer(1, collective, data, record, bytes);
    }
    if (form == shared || form == ordered) MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    if (strcmp(kind, "preallocate") == 0) {
      const double begin = MPI_Wtime();
      must(MPI_File_preallocate(file, 64 << 20), "preallocate");
      took = MPI_Wtime() - begin;
      bytes = 16 << 20;
    } else {
      took = timed(kind, !reads, form, record, bytes);
    }
    /* The first pass of a case that overwrites makes the file. */
    if ((pass > 0 || strcmp(kind, "fresh") == 0 || strcmp(kind, "preallocate") == 0) && took < best)
      best = took;
  }
  if (strided && !of_records) {
    memset(found, 0, (size_t)bytes);
    must(MPI_File_read_at(file, 0, found, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "the check");
    if (memcmp(found, data, (size_t)bytes) != 0) must(MPI_ERR_IO, "comparing the data");
  }
  MPI_File_close(&file);
  if (rank == 0) printf("%s %.9f %.0f\n", word, best, (double)bytes * ranks);
  fflush(stdout);
}

int main(int count, char** words) {
  int i;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  data = malloc(memory_bytes);
  found = malloc(memory_bytes);
  for (i = 0; i < memory_bytes; ++i) data[i] = (unsigned char)(i * 31 + i / 4096 + rank * 7);
  memset(found, 1, memory_bytes);
  for (i = 2; i < count; ++i) run_case(words[1], words[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(words[1], MPI_INFO_NULL);
  free(data);
  free(found);
  MPI_Finalize();
  return 0;
}
