/* Many children one after another, each with long messages both ways: the numbers of descriptors, mappings,
 * pages and processes do not grow after the first children. Arguments: the number of children, and "time" to
 * print the time for one. */
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

/* Children of this process that run or were not waited for. */
static int processes(void) {
  int count = 0;
  DIR* folder = opendir("/proc");
  for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    FILE* status = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
    if (status == NULL) continue;
    char text[512] = {0};
    const char* name_end = fread(text, 1, sizeof text - 1, status) > 0 ? strrchr(text, ')') : NULL;
    int parent = 0;
    if (name_end != NULL && sscanf(name_end + 1, " %*c %d", &parent) == 1) count += parent == (int)getpid();
    fclose(status);
  }
  closedir(folder);
  return count;
}

/* The mpiexec of the last child may still be ending; the library waits for it at the next MPI_Comm_spawn. */
static void await_processes(int most) {
  const double begin = now();
  while (processes() > most && now() - begin < 10) usleep(20000);
  CHECK(processes() <= most, "%d processes are left, %d before", processes(), most);
}

enum { kBytes = 200000 };
static char buffer[kBytes];

/* Long messages from the parent to the first child, until its pool of bounce buffers, which grows with the
 * traffic, is in use as a whole. */
static void fill_pool(MPI_Comm inter, int sends) {
  for (int i = 0; i < 300 && rank_ == 0; ++i) {
    if (sends) MPI_Send(buffer, kBytes, MPI_CHAR, 0, 0, inter);
    if (!sends) MPI_Recv(buffer, kBytes, MPI_CHAR, 0, 0, inter, MPI_STATUS_IGNORE);
  }
}

/* Root 0 of both groups. */
static void exchange(MPI_Comm inter, int first) {
  for (int turn = 0; turn < 2 && rank_ == 0; ++turn) {
    if (turn == first) memset(buffer, 5 + turn, kBytes);
    if (turn == first) MPI_Send(buffer, kBytes, MPI_CHAR, 0, 0, inter);
    if (turn != first) MPI_Recv(buffer, kBytes, MPI_CHAR, 0, 0, inter, MPI_STATUS_IGNORE);
    CHECK(buffer[0] == 5 + turn && buffer[kBytes - 1] == 5 + turn, "the message is not the one sent");
  }
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  MPI_Comm inter;
  MPI_Comm_get_parent(&inter);
  if (inter != MPI_COMM_NULL) {
    if (argc > 1) fill_pool(inter, 0);
    exchange(inter, 1);
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
  }
  const int times = argc > 1 ? atoi(argv[1]) : 100;
  const int settled = times / 5 + 1;
  struct Use before = {0, 0, 0};
  const int processes_before = processes();
  const double begin = now();
  for (int i = 0; i < times; ++i) {
    if (i == settled) before = use();
    int number = i;
    char* first[] = {"first", NULL};
    const int code = MPI_Comm_spawn(argv[0], i == 0 ? first : MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0,
                                    MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    CHECK(code == MPI_SUCCESS, "child %d: class %d", number, class_of(code));
    if (i == 0) fill_pool(inter, 1);
    exchange(inter, 0);
    MPI_Comm_disconnect(&inter);
  }
  const double each_ms = 1e3 * (now() - begin) / times;
  const struct Use after = use();
  if (argc > 2 && rank_ == 0) {
    printf("%.2f ms for each of %d children; %d and %d descriptors, %d and %d mappings, %ld and %ld pages\n",
           each_ms, times, before.descriptors, after.descriptors, before.mappings, after.mappings,
           before.pages, after.pages);
  }
  await_processes(processes_before + 1);
  CHECK(after.descriptors <= before.descriptors, "%d descriptors, %d before", after.descriptors,
        before.descriptors);
  CHECK(after.mappings <= before.mappings + 4, "%d mappings, %d before", after.mappings, before.mappings);
  CHECK(after.pages <= before.pages + 256, "%ld resident pages, %ld before", after.pages, before.pages);
  MPI_Finalize();
  return 0;
}
