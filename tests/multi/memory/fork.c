/* Children of a rank whose memory other ranks can reach: a child's stores stay private, the parent's later
 * stores do not show in the child, messages continue, and a child may become another program. With an
 * argument the memory comes from malloc. */
#include <sys/wait.h>
#include <unistd.h>

#include "../coll/check.h"

enum { length = 300000, small = 50 };
static int use_malloc;

static int* allocate(size_t numbers) {
  int* memory = NULL;
  if (use_malloc) {
    memory = malloc(numbers * sizeof *memory);
  } else {
    MPI_Alloc_mem((MPI_Aint)(numbers * sizeof *memory), MPI_INFO_NULL, &memory);
  }
  CHECK(memory != NULL, "no memory");
  return memory;
}

static void set(int* data, int count, int value) {
  for (int i = 0; i < count; ++i) data[i] = value + i;
}

static int is(const int* data, int count, int value) {
  for (int i = 0; i < count; ++i)
    if (data[i] != value + i) return 0;
  return 1;
}

static void exchange(int* out, int* in, int value) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  set(out, length, rank_ * 1000 + value);
  MPI_Sendrecv(out, length, MPI_INT, next, 1, in, length, MPI_INT, previous, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(is(in, length, previous * 1000 + value), "a message of round %d is wrong", value);
}

/* The exit code names the expectation that failed in the child. */
static void be_a_child(int* out, int* few, int go, int value) {
  char byte;
  if (read(go, &byte, 1) != 1) _exit(2); /* the parent has changed its data */
  if (!is(out, length, rank_ * 1000 + value)) _exit(3);
  if (!is(few, small, value)) _exit(4);
  set(out, length, -5000000);
  set(few, small, -5000000);
  if (!is(out, length, -5000000)) _exit(5);
  if (use_malloc) {
    int* more = malloc(length * sizeof *more);
    if (more == NULL) _exit(6);
    set(more, length, 1);
    more = realloc(more, 2 * length * sizeof *more);
    if (more == NULL || !is(more, length, 1)) _exit(7);
    free(more);
    free(out);
  }
  _exit(0);
}

static int exit_code_of(pid_t child) {
  int status = -1;
  if (child <= 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  use_malloc = argc > 1;
  int *out = allocate(length), *in = allocate(length), *few = allocate(small);
  exchange(out, in, 0);
  for (int round = 1; round <= 4; ++round) {
    int go[2];
    CHECK(pipe(go) == 0, "no pipe");
    set(out, length, rank_ * 1000 + round);
    set(few, small, round);
    const pid_t program = fork();
    if (program == 0) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(9);
    }
    const pid_t child = fork();
    if (child == 0) be_a_child(out, few, go[0], round);
    set(out, length, 7);
    set(few, small, 7);
    CHECK(write(go[1], "g", 1) == 1, "no child");
    int code = exit_code_of(program);
    CHECK(code == 0, "the child that became another program ended with %d", code);
    code = exit_code_of(child);
    CHECK(code == 0, "the child that stayed ended with %d", code);
    CHECK(is(out, length, 7) && is(few, small, 7), "the child wrote into its parent's memory");
    close(go[0]);
    close(go[1]);
    exchange(out, in, round);
  }
  CHECK(system("exit 3") / 256 == 3, "system() went wrong");
  MPI_Finalize();
  return 0;
}
