/* Many children one after another: descriptors, mappings and memory return to what they were after the first
 * ones. Arguments: the number of children, and "time" to print what one costs. */
#include <dirent.h>
#include <unistd.h>

#include "../coll/check.h"

struct Use {
  int descriptors;
  int mappings;
  long pages; /* resident */
};

static struct Use use(void) {
  struct Use now_used = {0, 0, 0};
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++now_used.descriptors;
  closedir(folder);
  FILE* maps = fopen("/proc/self/maps", "r");
  for (int letter = getc(maps); letter != EOF; letter = getc(maps)) now_used.mappings += letter == '\n';
  fclose(maps);
  FILE* pages = fopen("/proc/self/statm", "r");
  long all;
  CHECK(fscanf(pages, "%ld %ld", &all, &now_used.pages) == 2, "/proc/self/statm cannot be read");
  fclose(pages);
  return now_used;
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  MPI_Comm inter;
  MPI_Comm_get_parent(&inter);
  if (inter != MPI_COMM_NULL) {
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
  }
  const int times = argc > 1 ? atoi(argv[1]) : 100;
  const int settled = times / 5 + 1;
  struct Use before = {0, 0, 0};
  const double begin = now();
  for (int i = 0; i < times; ++i) {
    if (i == settled) before = use();
    int number = i;
    const int code = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                                    MPI_ERRCODES_IGNORE);
    CHECK(code == MPI_SUCCESS, "child %d: class %d", number, class_of(code));
    MPI_Comm_disconnect(&inter);
  }
  const double each_ms = 1e3 * (now() - begin) / times;
  const struct Use after = use();
  if (argc > 2 && rank_ == 0) {
    printf("%.2f ms for each of %d children; %d and %d descriptors, %d and %d mappings, %ld and %ld pages\n",
           each_ms, times, before.descriptors, after.descriptors, before.mappings, after.mappings,
           before.pages, after.pages);
  }
  /* mpiexec of the last children may not have ended yet; it holds no descriptor here. */
  CHECK(after.descriptors <= before.descriptors, "%d descriptors, %d before", after.descriptors,
        before.descriptors);
  CHECK(after.mappings <= before.mappings + 4, "%d mappings, %d before", after.mappings, before.mappings);
  CHECK(after.pages <= before.pages + 256, "%ld resident pages, %ld before", after.pages, before.pages);
  MPI_Finalize();
  return 0;
}
