/* A buffer that grows and shrinks by realloc, as Python's pickle makes them, is filled and freed again and
 * again, in a program that has freed a longer block before: its pages are kept, as glibc keeps them, although
 * the longer block was in the shared heap. */
#include <sys/resource.h>

#include "../coll/check.h"

enum { page_bytes = 4096, turns = 20 };
static const size_t first_bytes = 4096, grown_bytes = (size_t)12 << 20, filled_bytes = (size_t)8 << 20,
                    longest_bytes = (size_t)20 << 20;

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static void grow_and_free(int turn) {
  char* bytes = malloc(first_bytes);
  CHECK(bytes != NULL, "no memory");
  memset(bytes, turn, first_bytes);
  bytes = realloc(bytes, grown_bytes);
  CHECK(bytes != NULL && bytes[first_bytes - 1] == (char)turn, "wrong data after growing");
  memset(bytes, turn, filled_bytes);
  bytes = realloc(bytes, filled_bytes);
  CHECK(bytes != NULL && bytes[filled_bytes - 1] == (char)turn, "wrong data after shrinking");
  free(bytes);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  char* longest = malloc(longest_bytes);
  CHECK(longest != NULL, "no memory");
  memset(longest, 1, longest_bytes);
  free(longest);
  grow_and_free(0);
  const long before = page_faults();
  for (int turn = 1; turn <= turns; ++turn) grow_and_free(turn);
  /* New pages each time would be 2048 faults with pages of 4 KiB. */
  const long each = (page_faults() - before) / turns;
  CHECK(each < (long)(filled_bytes / page_bytes / 16), "%ld page faults each time", each);
  MPI_Finalize();
  return 0;
}
