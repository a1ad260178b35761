/* Rank 0 dies during a cooperative copy of its message: its send buffer becomes unreadable for itself, so the
 * first fragment that it copies kills it. Rank 1, which reads the buffer through a mapping of its own, must
 * still receive the whole message at once. Rank 1 ignores SIGTERM, with which mpiexec would end it earlier.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi.h"

enum { kTries = 30 };
static const size_t kBytes = (size_t)32 << 20;

static char words[64];

static void die(int number) {
  ssize_t written = write(1, words, strlen(words));
  (void)number;
  (void)written;
  kill(getpid(), SIGKILL);
}

static void send_all(unsigned char* buffer) {
  MPI_Send(buffer, 1 << 20, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  signal(SIGSEGV, die);
  signal(SIGBUS, die);
  for (int n = 1; n <= kTries; ++n) {
    MPI_Request request;
    mprotect(buffer, kBytes, PROT_READ | PROT_WRITE);
    memset(buffer, n, kBytes);
    snprintf(words, sizeof words, "rank 0 held a piece of message %d\n", n);
    MPI_Isend(buffer, (int)kBytes, MPI_BYTE, 1, n, MPI_COMM_WORLD, &request);
    mprotect(buffer, kBytes, PROT_NONE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void receive_all(unsigned char* buffer) {
  MPI_Recv(buffer, 1 << 20, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  signal(SIGTERM, SIG_IGN);
  for (int n = 1; n <= kTries; ++n) {
    alarm(4);      /* ends the wait for the message after the last one */
    usleep(20000); /* by then the sender waits */
    memset(buffer, 0, kBytes);
    MPI_Recv(buffer, (int)kBytes, MPI_BYTE, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t at = 0; at < kBytes; ++at) {
      if (buffer[at] == n) continue;
      printf("byte %zu of message %d is %d\n", at, n, buffer[at]);
      exit(1);
    }
    printf("message %d is whole\n", n);
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  int rank;
  unsigned char* buffer;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Alloc_mem((MPI_Aint)kBytes, MPI_INFO_NULL, &buffer);
  if (rank == 0) send_all(buffer);
  if (rank == 1) receive_all(buffer);
  MPI_Free_mem(buffer);
  MPI_Finalize();
  return 0;
}
