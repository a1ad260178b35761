/* Preloaded: the n-th allocation of the MPI library fails in one rank. FAILING_MALLOC=n selects the
 * allocation, FAILING_MALLOC_RANK the rank; or the program calls failing_malloc_at(). The program's own
 * allocations do not count; those of the C++ library do, because only the MPI library uses it in a C
 * program. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* memory, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

static struct { unsigned long begin, end; } ours[2];
static atomic_long fail_at; /* 0: never */
static atomic_long count;
static int told; /* a message for each failure */

static int note_library(struct dl_phdr_info* info, size_t bytes, void* unused) {
  (void)bytes, (void)unused;
  const int which = strstr(info->dlpi_name, "/libmpi_abi.so") != NULL  ? 0
                    : strstr(info->dlpi_name, "/libstdc++.so") != NULL ? 1
                                                                       : -1;
  for (int i = 0; which >= 0 && i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X)) continue;
    ours[which].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    ours[which].end = ours[which].begin + info->dlpi_phdr[i].p_memsz;
  }
  return 0;
}

__attribute__((constructor)) static void begin(void) {
  const char* at = getenv("FAILING_MALLOC");
  const char* rank = getenv("FAILING_MALLOC_RANK");
  const char* own = getenv("HEARTH_RANK");
  if (at == NULL || rank == NULL || own == NULL || strcmp(rank, own) != 0) return;
  dl_iterate_phdr(note_library, NULL);
  told = 1;
  fail_at = strtol(at, NULL, 10);
}

/* From now on the n-th allocation fails; none if n is 0. Returns whether the one of the last call has failed.
 */
int failing_malloc_at(long n) {
  if (ours[0].end == 0) dl_iterate_phdr(note_library, NULL);
  const long before = atomic_exchange(&fail_at, 0);
  const int failed = before != 0 && atomic_load(&count) >= before;
  atomic_store(&count, 0);
  atomic_store(&fail_at, n);
  return failed;
}

static int fails(const void* caller) {
  const long at = atomic_load_explicit(&fail_at, memory_order_relaxed);
  if (at == 0) return 0;
  const unsigned long from = (unsigned long)caller;
  if (!(from >= ours[0].begin && from < ours[0].end) && !(from >= ours[1].begin && from < ours[1].end))
    return 0;
  if (atomic_fetch_add(&count, 1) + 1 != at) return 0;
  char text[100];
  const int length = snprintf(text, sizeof text, "chaos: call %ld, malloc, fails with ENOMEM\n", at);
  if (told && write(2, text, (size_t)length) < 0) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}
void* calloc(size_t number, size_t bytes) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(number, bytes);
}
void* realloc(void* memory, size_t bytes) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}
