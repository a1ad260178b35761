/* Pages of the pipeline buffers that are new to a reader: a page fault maps many of them, because the writer
 * populates them together. The root of a broadcast writes; the others read. Passes without a check where the
 * kernel cannot populate (before Linux 5.14), pages are not of 4 KiB, or huge pages back shared memory. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static int kernel_populates(void) {
  enum { populate_write = 23, page = 4096 };
  if (sysconf(_SC_PAGESIZE) != page) return 0;
  void* memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int works = memory != MAP_FAILED && madvise(memory, page, populate_write) == 0;
  if (memory != MAP_FAILED) munmap(memory, page);
  return works;
}

static int has_huge_pages(void) {
  char words[128] = "";
  FILE* file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "r");
  if (file == NULL) return 0;
  const int read = fgets(words, sizeof words, file) != NULL;
  fclose(file);
  return read && (strstr(words, "[always]") || strstr(words, "[within_size]") || strstr(words, "[force]"));
}

int main(int argc, char** argv) {
  enum { calls = 4000, written_min = 200 };
  static char data[12000];
  start_with_codes(argc, argv);
  if (!kernel_populates() || has_huge_pages()) {
    if (rank_ == 0) printf("not checked: this kernel populates no pages of 4 KiB\n");
    MPI_Finalize();
    return 0;
  }
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
