/* Hints that differ between the processes or are invalid change no result and block no process. */
#include "file.h"

enum { kUnits = 5000, kUnit = 16 };

/* Units of the processes in turn, written and read back by collective calls. */
static void interleaved(const char* key, const char* value, int everywhere) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_File file;
  MPI_Datatype filetype;
  MPI_Status status;
  char* const data = malloc(kUnits * kUnit);
  if (everywhere || rank_ == 0) {
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
  }
  DO(MPI_File_open(MPI_COMM_WORLD, shared_name("hints"),
                   MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &file));
  DO(MPI_Type_vector(kUnits, kUnit, kUnit * size_, MPI_BYTE, &filetype));
  DO(MPI_Type_commit(&filetype));
  DO(MPI_File_set_view(file, (MPI_Offset)rank_ * kUnit, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  memset(data, rank_ + 1, kUnits * kUnit);
  DO(MPI_File_write_all(file, data, kUnits * kUnit, MPI_BYTE, &status));
  memset(data, 0, kUnits * kUnit);
  DO(MPI_File_read_at_all(file, 0, data, kUnits * kUnit, MPI_BYTE, &status));
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == kUnits * kUnit, "%s=%s: %d bytes are read", key, value, count);
  for (int at = 0; at < kUnits * kUnit; ++at)
    CHECK(data[at] == rank_ + 1, "%s=%s: byte %d is %d", key, value, at, data[at]);
  MPI_Barrier(MPI_COMM_WORLD);
  DO(MPI_File_close(&file));
  DO(MPI_Type_free(&filetype));
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  free(data);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  const char* const engines[] = {"window", "map", "calls"};
  const char* const lengths[] = {"1", "5000", "-7", "much", "9223372036854775807"};
  for (int everywhere = 0; everywhere < 2; ++everywhere) {
    for (int i = 0; i < 3; ++i) interleaved("hearth_engine", engines[i], everywhere);
    for (int i = 0; i < 5; ++i) interleaved("cb_buffer_size", lengths[i], everywhere);
  }
  MPI_Finalize();
  return 0;
}
