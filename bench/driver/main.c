/* Options, the order of the runs, and rank 0's output: JSON with one result per line, so that a reader can
 * show each result as it arrives. */
#define _GNU_SOURCE 1
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { sizes_max = 256, cases_max = 32, runs_max = 1024 };

struct size_list {
  size_t bytes[sizes_max];
  int count;
};

struct planned_run {
  const struct bench_case* what;
  size_t bytes;
};

struct options {
  const struct bench_case* cases[cases_max]; /* those that use all of `sizes` */
  int case_count;
  struct size_list sizes;
  struct planned_run runs[runs_max];
  int run_count;
  int from_mpi;
  size_t send_offset, receive_offset;
  double time_ms;
  int window;            /* 0: the default of the case */
  unsigned long shuffle; /* seed; 0: ascending */
};

static int one(size_t bytes) {
  (void)bytes;
  return 1;
}

static int sixty_four(size_t bytes) {
  (void)bytes;
  return window_max;
}

#define COLLECTIVE(name, which, what) \
  { name, run_collective, one, 0, what, 0, 0, which }

static const struct bench_case cases[] = {
    {"latency", pingpong, one, 0, "half round trip of one message", 0, 0, collective_none},
    {"bandwidth", stream_one_way, window_by_volume, 0, "one way, up to 64 in flight (2 MiB)", 0, 0,
     collective_none},
    {"bidirectional", stream_both_ways, window_by_volume, 0,
     "both ways at once, up to 64 in flight (2 MiB) each", 0, 0, collective_none},
    {"rate", stream_one_way, sixty_four, 0, "one way, 64 in flight at every length", 0, 0, collective_none},
    {"pairs", stream_one_way, sixty_four, 1, "rank i to rank i + P/2, 64 in flight; the slowest pair's time",
     0, 0, collective_none},
    {"unexpected", receive_unexpected, sixty_four, 0,
     "64 messages that came before their receives, last one first", 0, 0, collective_none},
    {"fresh", exchange_fresh, one, 0, "allocate, fill, exchange, check, free on both ranks", 0, 0,
     collective_none},
    {"kept", exchange_kept, one, 0, "fill, exchange, check on both ranks: the same with kept buffers", 0, 0,
     collective_none},
    {"vector8", pingpong_derived, one, 0, "half round trip of a vector: blocks of 8 bytes, gaps of 8", 2, 8,
     collective_none},
    {"vector64", pingpong_derived, one, 0, "the same with 64 bytes", 2, 64, collective_none},
    {"vector512", pingpong_derived, one, 0, "the same with 512 bytes", 2, 512, collective_none},
    {"vector4096", pingpong_derived, one, 0, "the same with 4096 bytes", 2, 4096, collective_none},
    {"struct", pingpong_derived, one, 0, "half round trip of structures with 32 bytes of data in 48", 2, 0,
     collective_none},
    {"put", one_sided_put, one, 0, "MPI_Put into memory of MPI_Win_allocate, and a flush", 0, 0,
     collective_none},
    {"get", one_sided_get, one, 0, "MPI_Get from there, and a flush", 0, 0, collective_none},
    {"lock_put", one_sided_lock_put, one, 0, "exclusive lock, put, unlock", 0, 0, collective_none},
    {"fence_put", one_sided_fence, one, 0, "put and a fence on both sides", 0, 0, collective_none},
    {"fetch_and_op", one_sided_fetch_and_op, one, 0, "fetch and add 8 bytes, and a flush", 0, 0,
     collective_none},
    COLLECTIVE("barrier", collective_barrier, "all ranks meet"),
    COLLECTIVE("bcast", collective_bcast, "from a root to all"),
    COLLECTIVE("gather", collective_gather, "a block from each rank to a root"),
    COLLECTIVE("gatherv", collective_gatherv, "the same, counts and places given for each"),
    COLLECTIVE("scatter", collective_scatter, "a block from a root to each rank"),
    COLLECTIVE("scatterv", collective_scatterv, "the same, counts and places given for each"),
    COLLECTIVE("allgather", collective_allgather, "a block from each rank to all"),
    COLLECTIVE("allgatherv", collective_allgatherv, "the same, counts and places given for each"),
    COLLECTIVE("alltoall", collective_alltoall, "a block from each rank to each"),
    COLLECTIVE("alltoallv", collective_alltoallv, "the same, counts and places given for each"),
    COLLECTIVE("reduce", collective_reduce, "the sum of all ranks' doubles at a root"),
    COLLECTIVE("allreduce", collective_allreduce, "the sum of all ranks' doubles at all"),
    COLLECTIVE("reduce_scatter_block", collective_reduce_scatter_block, "a block of the sum at each rank"),
    COLLECTIVE("scan", collective_scan, "the sum over the ranks up to one's own"),
    COLLECTIVE("exscan", collective_exscan, "the sum over the ranks before one's own"),
};
enum { case_total = sizeof cases / sizeof cases[0] };

static const size_t default_sizes[] = {0,     1,      8,      16,     32,      48,      64,     128,
                                       256,   512,    1024,   2048,   4096,    8192,    16384,  32768,
                                       65536, 131072, 262144, 524288, 1048576, 2097152, 4194304};

static void usage(FILE* to) {
  int i;
  fprintf(to,
          "usage: bench_driver [case...] [options], started by mpiexec on 2 or more ranks\n"
          "cases (default: latency bandwidth), each over all lengths, or over its own as in rate:8,64;\n"
          "of collectives it is the time of the slowest rank, and a length is that of a block:\n");
  for (i = 0; i < case_total; ++i) fprintf(to, "  %-20s %s\n", cases[i].name, cases[i].what);
  fprintf(
      to,
      "  %-20s nothing but MPI_Init and MPI_Finalize, for the time of an empty program\n"
      "  first OPERATION BYTES instead: the first calls of a job; sendrecv, allreduce, allreduce_new (on a "
      "new\n"
      "                       communicator), bcast, alltoall, window or dup\n"
      "options:\n"
      "  --sizes A,B,...      message lengths in bytes (default: 0 to 4194304)\n"
      "  --min-bytes N, --max-bytes N\n"
      "  --alloc malloc|mpi   where the buffers come from\n"
      "  --offset N           of both buffers from the start of a page; --send-offset, --recv-offset: of "
      "one\n"
      "  --time-ms T          time for each case and length (default 100)\n"
      "  --window N           messages in flight, 1 to 64 (default: by the case)\n"
      "  --shuffle SEED       in random order\n",
      "init");
}

static int rank_of_world(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static void stop(const char* what, const char* value) {
  if (rank_of_world() == 0) {
    fprintf(stderr, "bench_driver: %s '%s'\n", what, value);
    usage(stderr);
  }
  MPI_Finalize();
  exit(2);
}

static unsigned long number(const char* option, const char* text, unsigned long largest) {
  char* end;
  const unsigned long value = strtoul(text, &end, 10);
  if (end == text || *end != '\0' || value > largest || *text == '-') stop(option, text);
  return value;
}

static void parse_sizes(struct size_list* sizes, const char* text) {
  char copy[4096], *part;
  sizes->count = 0;
  if (strlen(text) >= sizeof copy) stop("too many lengths:", text);
  strcpy(copy, text);
  for (part = strtok(copy, ","); part != NULL; part = strtok(NULL, ",")) {
    if (sizes->count == sizes_max) stop("too many lengths:", text);
    sizes->bytes[sizes->count++] = number("not a length:", part, 1ul << 30);
  }
}

/* A barrier has no data, other collectives have some, and reductions have whole numbers. */
static int is_fitting(const struct bench_case* what, size_t bytes) {
  if (what->collective == collective_none) return 1;
  if (what->collective == collective_barrier) return bytes == 0;
  return bytes > 0 && (what->collective < collective_reduce || bytes % sizeof(double) == 0);
}

static void add_run(struct options* options, const struct bench_case* what, size_t bytes) {
  if (!is_fitting(what, bytes)) return;
  if (options->run_count == runs_max) stop("too many runs, at", what->name);
  options->runs[options->run_count].what = what;
  options->runs[options->run_count++].bytes = bytes;
}

/* "latency" uses all lengths, "rate:8,64" its own. */
static void parse_case(struct options* options, const char* text) {
  const char* colon = strchr(text, ':');
  const size_t length = colon == NULL ? strlen(text) : (size_t)(colon - text);
  const struct bench_case* found = NULL;
  struct size_list own;
  int i;
  for (i = 0; i < case_total; ++i) {
    if (strlen(cases[i].name) == length && strncmp(text, cases[i].name, length) == 0) found = &cases[i];
  }
  if (found == NULL || options->case_count == cases_max) stop("no such case:", text);
  if (found->collective == collective_barrier) {
    add_run(options, found, 0);
    return;
  }
  if (colon == NULL) {
    options->cases[options->case_count++] = found;
    return;
  }
  parse_sizes(&own, colon + 1);
  for (i = 0; i < own.count; ++i) add_run(options, found, own.bytes[i]);
}

/* All cases of one length, then those of the next length. */
static void plan_runs(struct options* options, size_t least, size_t most) {
  int i, c;
  for (i = 0; i < options->sizes.count; ++i) {
    const size_t bytes = options->sizes.bytes[i];
    for (c = 0; c < options->case_count; ++c) {
      if (bytes >= least && bytes <= most) add_run(options, options->cases[c], bytes);
    }
  }
}

static void parse(struct options* options, int count, char** words) {
  size_t least = 0, most = (size_t)1 << 30;
  int i;
  memset(options, 0, sizeof *options);
  memcpy(options->sizes.bytes, default_sizes, sizeof default_sizes);
  options->sizes.count = (int)(sizeof default_sizes / sizeof default_sizes[0]);
  options->time_ms = 100;
  for (i = 1; i < count; ++i) {
    const char* word = words[i];
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (strncmp(word, "--", 2) != 0) {
      parse_case(options, word);
      continue;
    }
    ++i;
    if (strcmp(word, "--sizes") == 0) {
      parse_sizes(&options->sizes, value);
    } else if (strcmp(word, "--min-bytes") == 0) {
      least = number("not a length:", value, 1ul << 30);
    } else if (strcmp(word, "--max-bytes") == 0) {
      most = number("not a length:", value, 1ul << 30);
    } else if (strcmp(word, "--alloc") == 0) {
      options->from_mpi = strcmp(value, "mpi") == 0;
      if (!options->from_mpi && strcmp(value, "malloc") != 0) stop("--alloc is malloc or mpi, not", value);
    } else if (strcmp(word, "--offset") == 0) {
      options->send_offset = options->receive_offset = number("not an offset:", value, page_bytes - 1);
    } else if (strcmp(word, "--send-offset") == 0) {
      options->send_offset = number("not an offset:", value, page_bytes - 1);
    } else if (strcmp(word, "--recv-offset") == 0) {
      options->receive_offset = number("not an offset:", value, page_bytes - 1);
    } else if (strcmp(word, "--time-ms") == 0) {
      options->time_ms = (double)number("not a time:", value, 100000);
    } else if (strcmp(word, "--window") == 0) {
      options->window = (int)number("not a window:", value, window_max);
    } else if (strcmp(word, "--shuffle") == 0) {
      options->shuffle = number("not a seed:", value, ~0ul);
    } else {
      stop("unknown option", word);
    }
  }
  if (options->case_count == 0 && options->run_count == 0) {
    parse_case(options, "latency");
    parse_case(options, "bandwidth");
  }
  plan_runs(options, least, most);
}

/* Equal on all ranks. */
static void shuffle_runs(struct options* options) {
  uint64_t state = options->shuffle;
  int i;
  if (state == 0) return;
  for (i = options->run_count - 1; i > 0; --i) {
    const struct planned_run kept = options->runs[i];
    int other;
    state = state * 6364136223846793005u + 1442695040888963407u;
    other = (int)((state >> 33) % (uint64_t)(i + 1));
    options->runs[i] = options->runs[other];
    options->runs[other] = kept;
  }
}

static int window_for(const struct options* options, const struct bench_case* what, size_t bytes) {
  /* A ping-pong always has one message in flight. */
  return options->window != 0 && what->window != one ? options->window : what->window(bytes);
}

static size_t area_bytes(const struct options* options, int size) {
  size_t most = 0;
  int i;
  for (i = 0; i < options->run_count; ++i) {
    const struct planned_run* run = &options->runs[i];
    const size_t memory = run->what->gap_factor != 0 ? run->what->gap_factor * run->bytes
                          : run->what->collective != collective_none
                              ? collective_area_bytes(run->what->collective, run->bytes, size)
                              : run->bytes;
    const size_t needed = buffers_needed(memory, window_for(options, run->what, run->bytes));
    if (needed > most) most = needed;
  }
  return most;
}

static void print_text(const char* text) {
  putchar('"');
  for (; *text != '\0' && *text != '\n'; ++text) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= ' ') putchar(*text);
  }
  putchar('"');
}

static void print_header(const struct options* options, int size, const int* processors,
                         char hosts[2][MPI_MAX_PROCESSOR_NAME], int machines) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, version, subversion;
  MPI_Get_library_version(library, &length);
  MPI_Get_version(&version, &subversion);
  printf("{\"library\": ");
  print_text(library);
  printf(", \"standard\": \"%d.%d\", \"ranks\": %d, \"processors\": [%d, %d],\n", version, subversion, size,
         processors[0], processors[1]);
  printf(" \"hosts\": [");
  print_text(hosts[0]);
  printf(", ");
  print_text(hosts[1]);
  printf("], \"machines\": %d,\n", machines);
  printf(
      " \"alloc\": \"%s\", \"send_offset\": %zu, \"receive_offset\": %zu, \"time_ms\": %.0f, "
      "\"clock_cost_ns\": %.1f,\n \"results\": [\n",
      options->from_mpi ? "mpi" : "malloc", options->send_offset, options->receive_offset, options->time_ms,
      clock_cost_ns());
  fflush(stdout);
}

static void print_result(const struct run* run, const struct result* result, int is_last) {
  printf(
      "  {\"case\": \"%s\", \"bytes\": %zu, \"window\": %d, \"pairs\": %d, \"median_ns\": %.2f, "
      "\"p10_ns\": %.2f, \"p99_ns\": %.2f, \"min_ns\": %.2f, \"batches\": %d, \"iterations\": %d, "
      "\"floor_before_ns\": %.1f, \"floor_after_ns\": %.1f, \"involuntary_switches\": %ld}%s\n",
      run->what->name, run->bytes, run->window, run->pairs, result->median_ns, result->p10_ns, result->p99_ns,
      result->min_ns, result->batches, result->iterations, result->floor_before_ns, result->floor_after_ns,
      result->involuntary_switches, is_last ? "" : ",");
  fflush(stdout);
}

static int has_collectives(const struct options* options) {
  int i, some = 0;
  for (i = 0; i < options->run_count; ++i) some += options->runs[i].what->collective != collective_none;
  return some > 0;
}

static void run_all(const struct options* options, int rank, int size) {
  int i;
  for (i = 0; i < options->run_count; ++i) {
    struct run run;
    struct result result;
    run.what = options->runs[i].what;
    run.bytes = options->runs[i].bytes;
    run.window = window_for(options, run.what, run.bytes);
    run.pairs = run.what->all_pairs ? size / 2 : 1;
    run.ranks = size;
    measure(&run, options->time_ms, rank, size, &result);
    if (rank == 0) print_result(&run, &result, i + 1 == options->run_count);
  }
}

/* `first OPERATION BYTES`: see first.c. The state of the machine is probed afterwards. */
static void run_first(int count, char** words, int rank, int size) {
  static const struct options none;
  static char hosts[2][MPI_MAX_PROCESSOR_NAME];
  const int processors[2] = {-1, -1};
  struct first_result first;
  struct bench_case what;
  struct run run;
  struct result result;
  int i;
  if (count != 4 || size < 2) stop("`first` needs two ranks, an operation and a length, not", words[1]);
  memset(&what, 0, sizeof what);
  memset(&run, 0, sizeof run);
  memset(&result, 0, sizeof result);
  run.bytes = number("not a length:", words[3], 1ul << 30);
  if (!first_calls(words[2], run.bytes, rank, size, &first)) stop("no such operation:", words[2]);
  if (rank < 2) {
    floor_make(rank == 0, 1 - rank);
    result.floor_before_ns = result.floor_after_ns = floor_one_way_ns(rank == 0);
  }
  if (rank != 0) return;
  print_header(&none, size, processors, hosts, 1);
  run.what = &what;
  run.window = run.pairs = result.batches = result.iterations = 1;
  for (i = 0; i < 2; ++i) {
    what.name = first.names[i];
    result.median_ns = result.p10_ns = result.p99_ns = result.min_ns = first.ns[i];
    print_result(&run, &result, i == 1);
  }
  printf(" ]\n}\n");
}

/* The number of machines of the job. */
static int machines_of(int rank) {
  MPI_Comm machine;
  int place, leads, machines;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &place);
  leads = place == 0;
  MPI_Allreduce(&leads, &machines, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&machine);
  return machines;
}

int main(int count, char** words) {
  static struct options options;
  int rank, size, machines, letters, processors[2];
  static char hosts[2][MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&count, &words);
  if (count > 1 && strcmp(words[1], "init") == 0) {
    MPI_Finalize();
    return 0;
  }
  rank = rank_of_world();
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count > 1 && strcmp(words[1], "first") == 0) {
    run_first(count, words, rank, size);
    MPI_Finalize();
    return 0;
  }
  if (count > 1 && strcmp(words[1], "--help") == 0) {
    if (rank == 0) usage(stdout);
    MPI_Finalize();
    return 0;
  }
  parse(&options, count, words);
  if (size < 2) stop("needs 2 or more ranks, but the job has", size == 1 ? "1" : "0");
  shuffle_runs(&options);
  buffers_make(options.from_mpi, area_bytes(&options, size), options.send_offset, options.receive_offset);
  processors[0] = processors[1] = sched_getcpu();
  machines = machines_of(rank);
  if (rank < 2 && machines == 1) floor_make(rank == 0, 1 - rank);
  if (has_collectives(&options)) together_make(rank, size, machines);
  MPI_Get_processor_name(hosts[0], &letters);
  if (rank == 1) {
    MPI_Send(processors, 1, MPI_INT, 0, tag_report, MPI_COMM_WORLD);
    MPI_Send(hosts[0], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, tag_report, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    MPI_Recv(&processors[1], 1, MPI_INT, 1, tag_report, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(hosts[1], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 1, tag_report, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    print_header(&options, size, processors, hosts, machines);
  }
  run_all(&options, rank, size);
  if (rank == 0) printf(" ]\n}\n");
  collective_end();
  one_sided_end();
  buffers_free();
  MPI_Finalize();
  return 0;
}
