/* Pages of the pipeline buffers that are new to a reader: a page fault maps many of them, because the writer
 * populates them together. The root of a broadcast writes; the others read. */
#include <sys/resource.h>

#include "check.h"

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

int main(int argc, char** argv) {
  enum { calls = 4000, written_min = 200 };
  static char data[12000];
  start_with_codes(argc, argv);
  /* More than slots hold; they hold more if ranks share processors. */
  const int bytes = size_ > 2 ? 12000 : 4000;
  for (int call = 0; call < 10; ++call) MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  long faults = page_faults();
  for (int call = 0; call < calls; ++call) MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  faults = page_faults() - faults;
  long written = faults;
  MPI_Bcast(&written, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  CHECK(written >= written_min, "the root has %ld page faults: not the buffers that this test is about",
        written);
  if (rank_ != 0) CHECK(4 * faults < written, "%ld page faults to read, %ld to write", faults, written);
  MPI_Finalize();
  return 0;
}
