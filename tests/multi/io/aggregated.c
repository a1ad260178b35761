/* Ranks write interleaved pieces together, on one machine or several: the library makes one system call for
 * each cycle, instead of one for each piece or stores to a mapping. The data are right, with memory in pieces
 * and with ranks that have nothing to write; an error of a writer reaches all ranks. */
#include "file.h"

enum { kPiece = 64, kPieces = 2000, kCycle = 65536 };

/* System calls that have written, of this process. */
static long long write_calls(void) {
  long long calls = -1;
  char line[100];
  FILE* const file = fopen("/proc/self/io", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "syscw: %lld", &calls);
  if (file != NULL) fclose(file);
  return calls;
}

static MPI_Datatype strided(int bytes, int distance) {
  MPI_Datatype block, type;
  MPI_Type_contiguous(bytes, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, distance, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&block);
  return type;
}

/* `writers`: the ranks that have data, from 0 on. */
static void write_and_compare(MPI_File file, int writers, int gap) {
  const int mine = rank_ < writers ? kPieces : 0;
  unsigned char* const memory = malloc((size_t)(kPiece + gap) * kPieces);
  memset(memory, rank_ + 1, (size_t)(kPiece + gap) * kPieces);
  MPI_Datatype filetype = strided(kPiece, kPiece * writers), in_memory = strided(kPiece, kPiece + gap);
  DO(MPI_File_set_view(file, rank_ < writers ? kPiece * rank_ : 0, MPI_BYTE, filetype, "native",
                       MPI_INFO_NULL));
  const long long before = write_calls();
  MPI_Status status;
  int count = -1;
  DO(MPI_File_write_all(file, memory, mine, in_memory, &status));
  const long long calls = write_calls() - before;
  MPI_Get_elements(&status, MPI_BYTE, &count);
  CHECK(count == mine * kPiece, "%d of %d bytes are written", count, mine * kPiece);
  long long all_calls = 0;
  MPI_Allreduce(&calls, &all_calls, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  const long long cycles = ((long long)kPiece * kPieces * writers + kCycle - 1) / kCycle;
  CHECK(before < 0 || all_calls == cycles, "%lld system calls for %lld cycles", all_calls, cycles);
  DO(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  const int bytes = kPiece * kPieces * writers;
  unsigned char* const found = malloc((size_t)bytes);
  DO(MPI_File_read_at(file, 0, found, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < bytes; ++i) CHECK(found[i] == i / kPiece % writers + 1, "byte %d is %d", i, found[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  free(found);
  free(memory);
  MPI_Type_free(&filetype);
  MPI_Type_free(&in_memory);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "hearth_engine", "window");
  MPI_File file;
  const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
  DO(MPI_File_open(MPI_COMM_WORLD, shared_name("aggregated"), amode, info, &file));
  MPI_Info_free(&info);
  if (argc > 1 && strcmp(argv[1], "fails") == 0) {
    /* HEARTH_CHAOS lets the second write of rank 0 fail. */
    unsigned char data[kPiece * 4096] = {0};
    MPI_Datatype filetype = strided(kPiece, kPiece * size_);
    DO(MPI_File_set_view(file, kPiece * rank_, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    FAILS(MPI_File_write_all(file, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO);
    DO(MPI_File_write_at_all(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Type_free(&filetype);
  } else {
    write_and_compare(file, size_, 0);
    write_and_compare(file, size_, 3);
    write_and_compare(file, size_ - 1, 0);
  }
  DO(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
