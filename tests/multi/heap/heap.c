/* The program's heap when ranks share it (mpiexec --share-heap): every function of the malloc family before
 * and after MPI_Init, short and long blocks, in threads, in a library that is opened later, and messages from
 * such memory. With the argument "private" the same, but no block may lie in the arena. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>

#include "../coll/check.h"
#include "window.h"

static int shared = 1;
enum { shared_bytes_min = 64 << 10 }; /* the default of share_heap_bytes_min */

/* Blocks that are long enough lie in the arena once MPI has started. */
static void check_place(const void* memory, size_t bytes, const char* what) {
  CHECK(memory != NULL, "%s: no memory", what);
  const int wanted = shared && bytes >= shared_bytes_min;
  CHECK(in_window(memory) == wanted, "%s of %zu bytes is%s in the window", what, bytes, wanted ? " not" : "");
}

static void fill(unsigned char* memory, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i) memory[i] = (unsigned char)(seed + i * 7 + (i >> 8));
}

static int is_filled(const unsigned char* memory, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i)
    if (memory[i] != (unsigned char)(seed + i * 7 + (i >> 8))) return 0;
  return 1;
}

enum { early_count = 12 };
static unsigned char* early[early_count];
static size_t early_bytes(int i) {
  return (size_t)100 << i;
}

static void allocate_early(void) {
  for (int i = 0; i < early_count; ++i) {
    early[i] = malloc(early_bytes(i));
    fill(early[i], early_bytes(i), i);
  }
}

/* Memory from before MPI_Init stays in place, and all functions still accept it. */
static void use_early(void) {
  for (int i = 0; i < early_count; ++i) {
    const size_t bytes = early_bytes(i);
    CHECK(!in_window(early[i]), "memory from before MPI_Init is in the window");
    CHECK(malloc_usable_size(early[i]) >= bytes, "usable size");
    CHECK(is_filled(early[i], bytes, i), "memory from before MPI_Init has changed");
    if (i % 3 == 0) {
      free(early[i]);
    } else {
      early[i] = realloc(early[i], i % 3 == 1 ? bytes * 5 : bytes / 2);
      CHECK(is_filled(early[i], i % 3 == 1 ? bytes : bytes / 2, i), "realloc has changed what was there");
      free(early[i]);
    }
  }
}

static void every_function(void) {
  static const size_t sizes[] = {0, 1, 100, 4000, 10000, 40000, 65535, 65536, 100000, 300000, 5000000};
  for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); ++i) {
    const size_t bytes = sizes[i];
    unsigned char* memory = malloc(bytes);
    check_place(memory, bytes, "malloc");
    CHECK(malloc_usable_size(memory) >= bytes, "usable size");
    CHECK((uintptr_t)memory % 16 == 0, "malloc of %zu bytes gave %p", bytes, (void*)memory);
    fill(memory, bytes, 1);
    unsigned char* zeroed = calloc(bytes, 1);
    check_place(zeroed, bytes, "calloc");
    for (size_t k = 0; k < bytes; ++k) CHECK(zeroed[k] == 0, "calloc: byte %zu is not zero", k);
    fill(zeroed, bytes, 2);
    memory = realloc(memory, bytes * 3);
    CHECK(is_filled(memory, bytes, 1), "realloc has changed what was there");
    if (bytes >= shared_bytes_min) check_place(memory, bytes * 3, "realloc");
    memory = realloc(memory, 10);
    CHECK(is_filled(memory, bytes < 10 ? bytes : 10, 1), "realloc has changed what was there");
    free(memory);
    CHECK(is_filled(zeroed, bytes, 2), "another block has changed");
    free(zeroed);
    zeroed = calloc(1, bytes);
    for (size_t k = 0; k < bytes; ++k)
      CHECK(zeroed[k] == 0, "calloc of used memory: byte %zu is not zero", k);
    free(zeroed);
    memory = realloc(NULL, bytes);
    check_place(memory, bytes, "realloc of nothing");
    free(memory);
    for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 16) {
      void* aligned = NULL;
      CHECK(posix_memalign(&aligned, alignment, bytes) == 0, "posix_memalign");
      CHECK((uintptr_t)aligned % alignment == 0, "posix_memalign to %zu gave %p", alignment, aligned);
      if (alignment <= 64) check_place(aligned, bytes, "posix_memalign");
      free(aligned);
      aligned = aligned_alloc(alignment, bytes);
      CHECK((uintptr_t)aligned % alignment == 0, "aligned_alloc to %zu gave %p", alignment, aligned);
      check_place(aligned, bytes, "aligned_alloc");
      free(aligned);
      aligned = memalign(alignment, bytes);
      CHECK((uintptr_t)aligned % alignment == 0, "memalign to %zu gave %p", alignment, aligned);
      free(aligned);
    }
    void* paged = valloc(bytes);
    CHECK(paged != NULL && (uintptr_t)paged % 4096 == 0, "valloc gave %p", paged);
    free(paged);
    char* text = strdup("from the C library");
    CHECK(strcmp(text, "from the C library") == 0, "strdup");
    free(text);
  }
  free(NULL);
  volatile size_t huge = SIZE_MAX / 2;
  errno = 0;
  CHECK(malloc(huge) == NULL && errno == ENOMEM, "malloc of %zu", huge);
  CHECK(calloc(huge, 8) == NULL, "calloc that overflows");
  void* nothing = (void*)&huge;
  CHECK(posix_memalign(&nothing, 24, 8) == EINVAL && nothing == (void*)&huge, "posix_memalign to 24");
}

static void exchange(void) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  for (size_t bytes = 1; bytes <= 2 << 20; bytes *= 4) {
    unsigned char *out = malloc(bytes + 3), *in = calloc(bytes + 3, 1);
    for (int shift = 0; shift <= 3; shift += 3) {
      fill(out + shift, bytes, rank_);
      MPI_Sendrecv(out + shift, (int)bytes, MPI_BYTE, next, 1, in + shift, (int)bytes, MPI_BYTE, previous, 1,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(is_filled(in + shift, bytes, previous), "a message of %zu bytes is wrong", bytes);
    }
    free(out);
    free(in);
  }
}

enum { threads = 4, rounds = 300, kept = 16 };
static pthread_mutex_t swap_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char* swapped[kept]; /* freed by the next thread */
static size_t swapped_bytes[kept];

static void* churn(void* argument) {
  unsigned state = 1 + (unsigned)(size_t)argument;
  for (int i = 0; i < rounds; ++i) {
    state = state * 1103515245 + 12345;
    const int place = (int)(state >> 16) % kept;
    const size_t bytes = (size_t)1 << (8 + (state >> 20) % 13);
    unsigned char* memory = malloc(bytes);
    fill(memory, bytes, place);
    pthread_mutex_lock(&swap_lock);
    unsigned char* former = swapped[place];
    const size_t former_bytes = swapped_bytes[place];
    swapped[place] = memory;
    swapped_bytes[place] = bytes;
    pthread_mutex_unlock(&swap_lock);
    if (former != NULL && !is_filled(former, former_bytes, place)) return (void*)1;
    free(former);
  }
  return NULL;
}

static void in_threads(void) {
  pthread_t crew[threads];
  for (size_t t = 0; t < threads; ++t) pthread_create(&crew[t], NULL, churn, (void*)t);
  for (int t = 0; t < threads; ++t) {
    void* wrong;
    pthread_join(crew[t], &wrong);
    CHECK(wrong == NULL, "memory has changed between threads");
  }
  for (int i = 0; i < kept; ++i) free(swapped[i]);
}

/* A block of the library is freed by the program, and vice versa. */
static void in_opened_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL, "dlopen: %s", dlerror());
  unsigned char* (*make)(size_t) = (unsigned char* (*)(size_t))dlsym(library, "make_block");
  void (*end)(void*) = (void (*)(void*))dlsym(library, "end_block");
  CHECK(make != NULL && end != NULL, "dlsym");
  unsigned char* memory = make(100000);
  check_place(memory, 100000, "a block of the library");
  free(memory);
  end(malloc(100000));
  dlclose(library);
}

int main(int argc, char** argv) {
  allocate_early();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  shared = strcmp(argv[1], "shared") == 0;
  const char* preloads = getenv("LD_PRELOAD");
  CHECK(preloads == NULL || strstr(preloads, "hearth") == NULL, "children would get LD_PRELOAD=%s", preloads);
  use_early();
  if (size_ < 10) {
    every_function();
    in_threads();
  }
  in_opened_library(argv[2]);
  exchange();
  void* late = malloc(100000);
  MPI_Finalize();
  memset(late, 1, 100000);
  free(late);
  free(malloc(200000));
  return 0;
}
