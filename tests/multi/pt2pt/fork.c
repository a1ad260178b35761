/* Children of a rank: one becomes another program; another one writes to its copy of the memory and calls
 * MPI, which is an error in the child only. Meanwhile the rank continues to send messages. */
#include <sys/wait.h>
#include <unistd.h>

#include "../coll/check.h"

enum { length = 50000 };
static int data[length];

static void exchange(int round) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  static int received[length];
  for (int count = 10; count <= length; count *= 5000) {
    for (int i = 0; i < count; ++i) data[i] = rank_ * 100003 + round * 13 + i;
    MPI_Sendrecv(data, count, MPI_INT, next, 1, received, count, MPI_INT, previous, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
      CHECK(received[i] == previous * 100003 + round * 13 + i, "round %d number %d is %d", round, i,
            received[i]);
  }
}

/* The exit code names the expectation that failed in the child. */
static void child_calls_mpi(void) {
  int rank = -1, error_class = MPI_SUCCESS, text_length = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  memset(data, 0xff, sizeof data);
  const int code = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (code == MPI_SUCCESS) _exit(2);
  MPI_Error_class(code, &error_class);
  if (error_class == MPI_SUCCESS) _exit(3);
  MPI_Error_string(code, text, &text_length);
  _exit(strstr(text, "fork") != NULL ? 0 : 4);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  exchange(0);
  for (int round = 1; round <= 5; ++round) {
    int status = -1;
    const pid_t program = fork();
    if (program == 0) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(9);
    }
    const pid_t caller = fork();
    if (caller == 0) child_calls_mpi();
    exchange(round);
    CHECK(program > 0 && waitpid(program, &status, 0) == program && status == 0,
          "the child that became another program ended with status %d", status);
    CHECK(caller > 0 && waitpid(caller, &status, 0) == caller && status == 0,
          "the child that called MPI ended with status %d", status);
    exchange(round);
  }
  MPI_Finalize();
  return 0;
}
