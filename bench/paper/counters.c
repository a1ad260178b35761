/* Cache misses of this process, from the processor's counters through the kernel. Most virtual machines have
 * no counters. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "paper.h"

static int first_level = -1, last_level = -1;

static int open_counter(unsigned type, unsigned long long what, int without_kernel) {
  struct perf_event_attr event;
  memset(&event, 0, sizeof event);
  event.size = sizeof event;
  event.type = type;
  event.config = what;
  event.exclude_kernel = without_kernel != 0;
  event.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int counters_open(const char** why, int* kernel) {
  const unsigned long long reads_missed =
      PERF_COUNT_HW_CACHE_L1D | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
  int without_kernel;
  for (without_kernel = 0; without_kernel < 2; ++without_kernel) {
    last_level = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, without_kernel);
    if (last_level < 0) continue;
    first_level = open_counter(PERF_TYPE_HW_CACHE, reads_missed, without_kernel);
    *kernel = !without_kernel;
    return 1;
  }
  *why = errno == ENOENT || errno == EOPNOTSUPP
             ? "this processor, or the virtual machine, has none"
             : "the kernel does not let this user open them (perf_event_paranoid)";
  return 0;
}

static double read_counter(int descriptor) {
  unsigned long long value = 0;
  if (descriptor < 0 || read(descriptor, &value, sizeof value) != (ssize_t)sizeof value) return 0;
  return (double)value;
}

void counters_read(struct misses* misses) {
  misses->first_level = read_counter(first_level);
  misses->last_level = read_counter(last_level);
}
