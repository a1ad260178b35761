/* Traffic of all kinds with every byte checked, under disturbance from outside: failing system calls, killed
 * ranks, delays, and long run times.
 *
 *   traffic SEED STEPS [survive] [within=MS] [seconds=S] [only=CALL] [bytes=N]
 *
 * Each step is one kind of call, drawn from the seed, equal on all ranks. With `survive`, errors are
 * returned: after each step the ranks agree whether it succeeded everywhere, and otherwise shrink and repeat
 * it. Without it, errors end the job. With `within`, timers kill all ranks except 0 and 1 at random times: in
 * a packet, a copy, a collective, or between two calls. With `seconds`, the steps continue for that time;
 * memory, descriptors and message latency are sampled and must not grow. */
#include <dirent.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { bytes_max = 1 << 19, kept_max = 8, samples_max = 4096 };

static unsigned long seed;
static int survives, world_rank;
static MPI_Comm comm; /* the surviving ranks */
static int rank, size;
static unsigned char* out;
static unsigned char* in;
static unsigned char* lent; /* from MPI_Alloc_mem */

#define CHECK(condition, ...)                                         \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "traffic:%d: rank %d: ", __LINE__, world_rank); \
      fprintf(stderr, __VA_ARGS__);                                   \
      fprintf(stderr, "\n");                                          \
      MPI_Abort(MPI_COMM_WORLD, 3);                                   \
    }                                                                 \
  } while (0)
#define TRY(call)                                 \
  do {                                            \
    const int try_code = (call);                  \
    if (try_code != MPI_SUCCESS) return try_code; \
  } while (0)

static unsigned long chance(unsigned long of) {
  unsigned long word = seed * 0x9e3779b97f4a7c15UL + of * 0xd1b54a32d192ed03UL;
  word ^= word >> 29;
  word *= 0xbf58476d1ce4e5b9UL;
  return word ^ word >> 32;
}

static unsigned char byte_of(unsigned long step, int from, int at) {
  return (unsigned char)(step * 7 + (unsigned long)from * 31 + (unsigned long)at);
}

static void fill(unsigned char* data, unsigned long step, int from, int bytes) {
  for (int at = 0; at < bytes; ++at) data[at] = byte_of(step, from, at);
}

static void check_bytes(const unsigned char* data, unsigned long step, int from, int bytes,
                        const char* what) {
  for (int at = 0; at < bytes; ++at) {
    CHECK(data[at] == byte_of(step, from, at), "step %lu: byte %d of %d from rank %d is wrong after %s", step,
          at, bytes, from, what);
  }
}

static int left(void) {
  return (rank + size - 1) % size;
}
static int right(void) {
  return (rank + 1) % size;
}
static int root_of(unsigned long step) {
  return (int)(chance(step + 1) % (unsigned long)size);
}

/* Messages. */

static int sendrecv(unsigned long step, int bytes) {
  fill(out, step, rank, bytes);
  TRY(MPI_Sendrecv(out, bytes, MPI_BYTE, right(), 5, in, bytes, MPI_BYTE, left(), 5, comm,
                   MPI_STATUS_IGNORE));
  check_bytes(in, step, left(), bytes, "a message");
  return MPI_SUCCESS;
}

/* The even ranks send first. */
static int blocking(unsigned long step, int bytes) {
  fill(out, step, rank, bytes);
  if (size < 2) return MPI_SUCCESS;
  const int partner = rank % 2 == 0 ? rank + 1 : rank - 1;
  if (partner >= size) return MPI_SUCCESS;
  if (rank % 2 == 0) {
    TRY(step % 3 == 0 ? MPI_Ssend(out, bytes, MPI_BYTE, partner, 6, comm)
                      : MPI_Send(out, bytes, MPI_BYTE, partner, 6, comm));
    TRY(MPI_Recv(in, bytes, MPI_BYTE, partner, 7, comm, MPI_STATUS_IGNORE));
  } else {
    TRY(MPI_Recv(in, bytes, MPI_BYTE, partner, 6, comm, MPI_STATUS_IGNORE));
    TRY(MPI_Send(out, bytes, MPI_BYTE, partner, 7, comm));
  }
  check_bytes(in, step, partner, bytes, "a blocking message");
  return MPI_SUCCESS;
}

static int many(unsigned long step, int bytes) {
  MPI_Request requests[2 * kept_max];
  const int each = bytes / kept_max;
  int code = MPI_SUCCESS, started = 0;
  fill(out, step, rank, each);
  for (int i = 0; i < kept_max && code == MPI_SUCCESS; ++i) {
    code = MPI_Irecv(in + i * each, each, MPI_BYTE, right(), i, comm, &requests[started]);
    started += code == MPI_SUCCESS;
  }
  for (int i = 0; i < kept_max && code == MPI_SUCCESS; ++i) {
    code = MPI_Isend(out, each, MPI_BYTE, left(), i, comm, &requests[started]);
    started += code == MPI_SUCCESS;
  }
  const int waited = MPI_Waitall(started, requests, MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS || waited != MPI_SUCCESS) return code != MPI_SUCCESS ? code : waited;
  for (int i = 0; i < kept_max; ++i) check_bytes(in + i * each, step, right(), each, "several messages");
  return MPI_SUCCESS;
}

static int from_lent_memory(unsigned long step, int bytes) {
  MPI_Request request;
  fill(lent, step, rank, bytes);
  TRY(MPI_Irecv(lent + bytes_max, bytes, MPI_BYTE, left(), 8, comm, &request));
  const int sent = MPI_Send(lent, bytes, MPI_BYTE, right(), 8, comm);
  const int received = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sent != MPI_SUCCESS || received != MPI_SUCCESS) return sent != MPI_SUCCESS ? sent : received;
  check_bytes(lent + bytes_max, step, left(), bytes, "a message from MPI_Alloc_mem");
  return MPI_SUCCESS;
}

/* A probe matches the message before it is received. */
static int probed(unsigned long step, int bytes) {
  MPI_Request request;
  MPI_Message message;
  MPI_Status status;
  int length = -1;
  fill(out, step, rank, bytes);
  TRY(MPI_Isend(out, bytes, MPI_BYTE, right(), 9, comm, &request));
  int code = MPI_Mprobe(left(), 9, comm, &message, &status);
  if (code == MPI_SUCCESS) {
    MPI_Get_count(&status, MPI_BYTE, &length);
    CHECK(length == bytes, "step %lu: the probe found %d bytes, not %d", step, length, bytes);
    code = MPI_Mrecv(in, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  }
  const int sent = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS || sent != MPI_SUCCESS) return code != MPI_SUCCESS ? code : sent;
  check_bytes(in, step, left(), bytes, "a probed message");
  return MPI_SUCCESS;
}

static int with_gaps(unsigned long step, int bytes) {
  MPI_Datatype column;
  const int count = bytes / 8 / 2;
  fill(out, step, rank, count * 16);
  memset(in, 0, (size_t)count * 16);
  TRY(MPI_Type_vector(count, 8, 16, MPI_BYTE, &column));
  MPI_Type_commit(&column);
  const int code =
      MPI_Sendrecv(out, 1, column, right(), 10, in, 1, column, left(), 10, comm, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; i < count; ++i) {
    CHECK(in[16 * i] == byte_of(step, left(), 16 * i) && in[16 * i + 8] == 0,
          "step %lu: block %d of %d is wrong", step, i, count);
  }
  return MPI_SUCCESS;
}

/* Collectives. */

static int barrier(unsigned long step, int bytes) {
  (void)step, (void)bytes;
  return MPI_Barrier(comm);
}

static int bcast(unsigned long step, int bytes) {
  const int root = root_of(step);
  if (rank == root) fill(out, step, rank, bytes);
  TRY(MPI_Bcast(out, bytes, MPI_BYTE, root, comm));
  check_bytes(out, step, root, bytes, "a broadcast");
  return MPI_SUCCESS;
}

static void check_sums(const long* sums, unsigned long step, int count, int first, const char* what) {
  for (int i = 0; i < count; ++i) {
    const long expected = (long)size * (size - 1) / 2 + size * (first + i + (long)step);
    CHECK(sums[i] == expected, "step %lu: sum %d is %ld, not %ld, after %s", step, i, sums[i], expected,
          what);
  }
}

static int fill_longs(unsigned long step, int bytes) {
  const int count = bytes / 8 > 0 ? bytes / 8 : 1;
  for (int i = 0; i < count; ++i) ((long*)out)[i] = rank + i + (long)step;
  return count;
}

static int allreduce(unsigned long step, int bytes) {
  const int count = fill_longs(step, bytes);
  TRY(MPI_Allreduce(out, in, count, MPI_LONG, MPI_SUM, comm));
  check_sums((long*)in, step, count, 0, "an allreduce");
  return MPI_SUCCESS;
}

static int reduce(unsigned long step, int bytes) {
  const int count = fill_longs(step, bytes);
  const int root = root_of(step);
  TRY(MPI_Reduce(out, in, count, MPI_LONG, MPI_SUM, root, comm));
  if (rank == root) check_sums((long*)in, step, count, 0, "a reduce");
  return MPI_SUCCESS;
}

static int reduce_scatter(unsigned long step, int bytes) {
  const int count = bytes / 8 / size > 0 ? bytes / 8 / size : 1;
  fill_longs(step, count * size * 8);
  TRY(MPI_Reduce_scatter_block(out, in, count, MPI_LONG, MPI_SUM, comm));
  check_sums((long*)in, step, count, rank * count, "a reduce_scatter_block");
  return MPI_SUCCESS;
}

static int scan(unsigned long step, int bytes) {
  const int count = fill_longs(step, bytes);
  TRY(MPI_Scan(out, in, count, MPI_LONG, MPI_SUM, comm));
  for (int i = 0; i < count; ++i) {
    const long expected = (long)(rank + 1) * rank / 2 + (rank + 1) * (i + (long)step);
    CHECK(((long*)in)[i] == expected, "step %lu: prefix %d is wrong", step, i);
  }
  return MPI_SUCCESS;
}

static int each_of(int bytes) {
  return bytes / size > 0 ? bytes / size : 1;
}

static int alltoall(unsigned long step, int bytes) {
  const int each = each_of(bytes);
  for (int to = 0; to < size; ++to) fill(out + to * each, step, rank, each);
  TRY(MPI_Alltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, comm));
  for (int from = 0; from < size; ++from) check_bytes(in + from * each, step, from, each, "an alltoall");
  return MPI_SUCCESS;
}

static int allgather(unsigned long step, int bytes) {
  const int each = each_of(bytes);
  fill(out, step, rank, each);
  TRY(MPI_Allgather(out, each, MPI_BYTE, in, each, MPI_BYTE, comm));
  for (int from = 0; from < size; ++from) check_bytes(in + from * each, step, from, each, "an allgather");
  return MPI_SUCCESS;
}

static int gather_scatter(unsigned long step, int bytes) {
  const int each = each_of(bytes);
  const int root = root_of(step);
  fill(out, step, rank, each);
  TRY(MPI_Gather(out, each, MPI_BYTE, in, each, MPI_BYTE, root, comm));
  for (int from = 0; from < size && rank == root; ++from)
    check_bytes(in + from * each, step, from, each, "a gather");
  memset(out, 0, (size_t)each);
  TRY(MPI_Scatter(in, each, MPI_BYTE, out, each, MPI_BYTE, root, comm));
  check_bytes(out, step, rank, each, "a scatter");
  return MPI_SUCCESS;
}

/* Two nonblocking collectives at the same time. */
static int nonblocking(unsigned long step, int bytes) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const int root = root_of(step);
  const int count = bytes / 8 > 0 ? bytes / 8 : 1;
  unsigned char* told = lent;
  if (rank == root) fill(told, step, rank, bytes);
  fill_longs(step, bytes);
  int code = MPI_Ibcast(told, bytes, MPI_BYTE, root, comm, &requests[0]);
  if (code == MPI_SUCCESS) code = MPI_Iallreduce(out, in, count, MPI_LONG, MPI_SUM, comm, &requests[1]);
  const int waited = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS || waited != MPI_SUCCESS) return code != MPI_SUCCESS ? code : waited;
  check_bytes(told, step, root, bytes, "an ibcast");
  check_sums((long*)in, step, count, 0, "an iallreduce");
  return MPI_SUCCESS;
}

static int persistent(unsigned long step, int bytes) {
  MPI_Request request;
  const int count = fill_longs(step, bytes);
  TRY(MPI_Allreduce_init(out, in, count, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, &request));
  int code = MPI_SUCCESS;
  for (int round = 0; round < 3 && code == MPI_SUCCESS; ++round) {
    memset(in, 0, (size_t)count * 8);
    code = MPI_Start(&request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) check_sums((long*)in, step, count, 0, "a persistent allreduce");
  }
  MPI_Request_free(&request);
  return code;
}

/* Creation of communicators. */

static int duplicate(unsigned long step, int bytes) {
  MPI_Comm twin;
  TRY(MPI_Comm_dup(comm, &twin));
  if (survives) MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN);
  const MPI_Comm kept = comm;
  comm = twin;
  const int code = allreduce(step, bytes);
  comm = kept;
  if (code != MPI_SUCCESS) MPIX_Comm_revoke(twin); /* makes all ranks leave it */
  const int freed = MPI_Comm_free(&twin);
  return code != MPI_SUCCESS ? code : freed;
}

/* A half may lack the dead rank, so operations on it may succeed although the split failed on other ranks.
 * Therefore all ranks agree that they have their half. */
static int split(unsigned long step, int bytes) {
  MPI_Comm half = MPI_COMM_NULL;
  const int made = MPI_Comm_split(comm, rank % 2, -rank, &half);
  int all_have = made == MPI_SUCCESS;
  if (survives) MPIX_Comm_agree(comm, &all_have);
  if (!all_have) {
    if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
    return made != MPI_SUCCESS ? made : MPIX_ERR_PROC_FAILED;
  }
  if (survives) MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
  int own = rank, sum = -1, expected = 0;
  for (int other = rank % 2; other < size; other += 2) expected += other;
  (void)step, (void)bytes;
  const int code = MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, half);
  CHECK(code != MPI_SUCCESS || sum == expected, "step %lu: the sum of a half is %d, not %d", step, sum,
        expected);
  if (code != MPI_SUCCESS) MPIX_Comm_revoke(half);
  const int freed = MPI_Comm_free(&half);
  return code != MPI_SUCCESS ? code : freed;
}

static int alloc_mem(unsigned long step, int bytes) {
  unsigned char* memory = NULL;
  TRY(MPI_Alloc_mem(bytes + 1, MPI_INFO_NULL, &memory));
  unsigned char* kept = out;
  out = memory;
  const int code = sendrecv(step, bytes);
  out = kept;
  MPI_Free_mem(memory);
  return code;
}

static const struct {
  const char* name;
  int (*run)(unsigned long step, int bytes);
} calls[] = {{"sendrecv", sendrecv},
             {"blocking", blocking},
             {"many", many},
             {"lent", from_lent_memory},
             {"probed", probed},
             {"gaps", with_gaps},
             {"barrier", barrier},
             {"bcast", bcast},
             {"allreduce", allreduce},
             {"reduce", reduce},
             {"reduce_scatter", reduce_scatter},
             {"scan", scan},
             {"alltoall", alltoall},
             {"allgather", allgather},
             {"gather_scatter", gather_scatter},
             {"nonblocking", nonblocking},
             {"persistent", persistent},
             {"dup", duplicate},
             {"split", split},
             {"alloc_mem", alloc_mem}};
enum { calls_count = sizeof calls / sizeof calls[0] };

static int length_of(unsigned long word) {
  static const int lengths[] = {0, 8, 40, 64, 248, 256, 1000, 4096, 5000, 20000, 65536, 200000, bytes_max};
  return lengths[word % (sizeof lengths / sizeof lengths[0])];
}

/* Measurements that must not grow. */

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long resident_kib(void) {
  long pages = 0, all = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (file != NULL) fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Without the descriptors of other processes: a rank opens one for each rank that it has waited for long, and
 * keeps it. */
static long descriptors(void) {
  long count = 0, processes = 0;
  DIR* folder = opendir("/proc/self/fd");
  struct dirent* entry;
  while (folder != NULL && (entry = readdir(folder)) != NULL) {
    char target[32] = "";
    const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
    const int is_process = length > 0 && strncmp(target, "anon_inode:[pidfd]", sizeof target) == 0;
    ++*(is_process ? &processes : &count);
  }
  if (folder != NULL) closedir(folder);
  CHECK(processes < size, "%ld descriptors of processes with %d ranks", processes, size);
  return count;
}

static double by_value[samples_max];
static int compare(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}
static double median(const double* values, int count) {
  memcpy(by_value, values, (size_t)count * sizeof *values);
  qsort(by_value, (size_t)count, sizeof *by_value, compare);
  return by_value[count / 2];
}

static double memory[samples_max], files[samples_max], latency_us[samples_max];
static int samples;

static double least(const double* values, int count) {
  double found = values[0];
  for (int i = 1; i < count; ++i) found = values[i] < found ? values[i] : found;
  return found;
}

static void sample(void) {
  double rounds[21];
  unsigned char word[8] = {0};
  for (int i = 0; i < 21; ++i) {
    const double began = now_s();
    MPI_Sendrecv(word, 8, MPI_BYTE, right(), 11, word, 8, MPI_BYTE, left(), 11, comm, MPI_STATUS_IGNORE);
    rounds[i] = 1e6 * (now_s() - began);
  }
  if (samples == samples_max) return;
  memory[samples] = (double)resident_kib();
  files[samples] = (double)descriptors();
  latency_us[samples++] = median(rounds, 21);
}

/* Compares the last third of the samples with the second one. In the first third, pools and rings grow; that
 * takes up to a minute, because the memory of bounce buffers (1.5 MiB per rank) and pipeline buffers is
 * allocated at first use. */
static void judge(double seconds) {
  const int third = samples / 3;
  const double room_kib = seconds < 60 ? 16384 : 256;
  if (third < 3) return;
  const double memory_before = median(memory + third, third),
               memory_after = median(memory + 2 * third, third);
  /* A descriptor that is open for a moment, in half of the samples, would move a median.
   * A leak raises the least. */
  const double files_before = least(files + third, third), files_after = least(files + 2 * third, third);
  const double time_before = median(latency_us + third, third);
  const double time_after = median(latency_us + 2 * third, third);
  printf("rank %d: %d samples: %.0f to %.0f KiB, %.0f to %.0f descriptors, %.2f to %.2f us\n", world_rank,
         samples, memory_before, memory_after, files_before, files_after, time_before, time_after);
  CHECK(memory_after <= 1.02 * memory_before + room_kib, "memory grows: %.0f to %.0f KiB", memory_before,
        memory_after);
  CHECK(files_after <= files_before, "descriptors grow: %.0f to %.0f", files_before, files_after);
  CHECK(time_after <= 3 * time_before + 50, "messages get slower: %.2f to %.2f us", time_before, time_after);
}

/* Returns whether the step succeeded on all ranks; otherwise replaces the communicator by one of the
 * survivors. */
static int settle(int code) {
  int all_well = code == MPI_SUCCESS, error_class = MPI_SUCCESS;
  if (!all_well) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_class(code, &error_class);
    MPI_Error_string(code, text, &length);
    CHECK(error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_REVOKED ||
              error_class == MPI_ERR_IN_STATUS,
          "%s", text);
    MPIX_Comm_revoke(comm);
  }
  MPIX_Comm_agree(comm, &all_well);
  if (all_well) return 1;
  MPI_Comm next;
  CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS, "cannot shrink");
  MPI_Comm_free(&comm);
  comm = next;
  return 0;
}

/* Kills this rank at a time that depends only on seed and rank. */
static void die_within(unsigned long ms) {
  const unsigned long us = 1000 + chance((unsigned long)world_rank) % (1000 * ms);
  const struct itimerval timer = {{0, 0}, {(long)(us / 1000000), (long)(us % 1000000)}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

int main(int argc, char** argv) {
  double seconds = 0;
  unsigned long within_ms = 0;
  const char* only = NULL;
  int bytes_given = -1, in_arena = 0;
  seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
  for (int i = 3; i < argc; ++i) {
    if (strcmp(argv[i], "survive") == 0) survives = 1;
    if (strcmp(argv[i], "arena") == 0) in_arena = 1;
    if (strncmp(argv[i], "within=", 7) == 0) within_ms = strtoul(argv[i] + 7, NULL, 10);
    if (strncmp(argv[i], "seconds=", 8) == 0) seconds = strtod(argv[i] + 8, NULL);
    if (strncmp(argv[i], "only=", 5) == 0) only = argv[i] + 5;
    if (strncmp(argv[i], "bytes=", 6) == 0) bytes_given = atoi(argv[i] + 6);
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  if (survives) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (in_arena) {
    MPI_Alloc_mem(bytes_max + 64, MPI_INFO_NULL, &out);
    MPI_Alloc_mem(bytes_max + 64, MPI_INFO_NULL, &in);
  } else {
    out = malloc(bytes_max + 64);
    in = malloc(bytes_max + 64);
  }
  CHECK(MPI_Alloc_mem(2 * bytes_max + 64, MPI_INFO_NULL, &lent) == MPI_SUCCESS, "no memory to lend");
  const double end = now_s() + seconds;
  comm = MPI_COMM_WORLD;
  if (survives) {
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &comm) == MPI_SUCCESS, "cannot shrink");
  } else {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  }
  if (within_ms > 0 && world_rank > 1) die_within(within_ms);
  for (unsigned long step = 0;; ++step) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (seconds == 0 && step >= steps && (within_ms == 0 || size <= 2)) break;
    if (seconds > 0 && step % 64 == 0) {
      int over = now_s() > end;
      const int code = MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, comm);
      if (survives && !settle(code)) continue;
      if (over) break;
      if (!survives) sample();
    }
    const unsigned long word = chance(1000 + step);
    unsigned long call = seconds == 0 && within_ms == 0 && step < calls_count ? step : word % calls_count;
    for (unsigned long i = 0; i < calls_count; ++i) {
      if (only != NULL && strcmp(only, calls[i].name) == 0) call = i;
    }
    const int bytes = bytes_given >= 0 ? bytes_given : length_of(word >> 8);
    const int code = calls[call].run(step, bytes);
    if (survives) settle(code);
  }
  if (!survives) judge(seconds);
  printf("traffic: all is well with rank %d of %d\n", rank, size);
  fflush(stdout); /* a rank may still be killed */
  MPI_Comm_free(&comm);
  MPI_Free_mem(lent);
  if (in_arena) {
    MPI_Free_mem(out);
    MPI_Free_mem(in);
  } else {
    free(out);
    free(in);
  }
  MPI_Finalize();
  return 0;
}
