/* Pages of a shared heap. With the argument "returns": freed memory is returned to the kernel if the block
 * was long; otherwise the next block reuses it, without page faults. With "unreachable": a child made by fork
 * that cannot get a copy of the arena slice continues with private memory. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../coll/check.h"
#include "window.h"

static long shared_kib(void) {
  char line[256];
  long kib = -1;
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "RssShmem:", 9) == 0) kib = atol(line + 9);
  if (status != NULL) fclose(status);
  return kib;
}

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static void returns(void) {
  enum { bytes = 48 << 20, kib = bytes / 1024 };
  const long before = shared_kib();
  for (int round = 0; round < 3; ++round) {
    char* memory = malloc(bytes);
    CHECK(in_window(memory), "not in the window");
    /* Later blocks may be populated in advance, because their predecessor was touched. */
    if (round == 0) CHECK(shared_kib() < before + kib / 8, "untouched memory is allocated");
    memset(memory, 1, bytes);
    CHECK(shared_kib() > before + kib / 2, "%ld KiB: memory that was touched is not counted", shared_kib());
    free(memory);
    CHECK(shared_kib() < before + kib / 8, "%ld KiB are there after %ld: freed memory stays", shared_kib(),
          before);
  }
}

static void stays(void) {
  enum { bytes = 8 << 20 };
  long faults = 0;
  for (int round = 0; round < 10; ++round) {
    if (round == 2) faults = page_faults();
    char *in = malloc(bytes), *out = calloc(bytes, 1);
    CHECK(in_window(in) && in_window(out), "not in the window");
    for (size_t i = 0; i < bytes; i += 1000) CHECK(out[i] == 0, "calloc: byte %zu is not zero", i);
    memset(in, 1, bytes);
    memset(out, 1, bytes);
    free(in);
    free(out);
  }
  faults = page_faults() - faults;
  CHECK(faults < 100, "%ld page faults in blocks that were free a moment ago", faults);
}

static void unreachable(void) {
  char* memory = malloc(300000);
  char* freed = malloc(300000);
  CHECK(in_window(memory), "not in the window");
  memset(memory, 1, 300000);
  memset(freed, 1, 300000);
  free(freed);
  /* Like a program that closes all descriptors. Without the file the child cannot find out which pages to
   * copy. */
  for (int descriptor = 3; descriptor < 1024; ++descriptor) close(descriptor);
  const pid_t child = fork();
  if (child == 0) {
    char* own = calloc(300000, 1);
    if (own == NULL || in_window(own)) _exit(1);
    memset(own, 2, 300000);
    own = realloc(own, 600000);
    if (own == NULL || own[299999] != 2 || in_window(own)) _exit(2);
    free(own);
    execl("/bin/true", "true", (char*)NULL);
    _exit(3);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
  for (int i = 0; i < 300000; ++i) CHECK(memory[i] == 1, "memory has changed");
  free(memory);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (strcmp(argv[1], "returns") == 0) {
    returns();
    stays();
  } else {
    unreachable();
  }
  MPI_Finalize();
  return 0;
}
