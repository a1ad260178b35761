/* Ways to be late: sleeping, computing, stopped by a signal, file accesses, repeated short sleeps. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "steps.h"

extern char** environ;

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static void nap(int ms) {
  const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&time, NULL);
}

static void compute(int ms) {
  const double end = now_ms() + ms;
  volatile double value = 1;
  while (now_ms() < end) value = value * 1.000001;
}

/* A helper process continues this one several times, because the stop may come after the first signal. */
static void stop(int ms) {
  char command[160];
  char* const arguments[] = {"sh", "-c", command, NULL};
  pid_t helper;
  int status;
  snprintf(command, sizeof command,
           "(sleep %d.%03d; for i in 1 2 3 4 5 6 7 8; do kill -CONT %d || exit; sleep 0.1; done) >/dev/null "
           "2>&1 &",
           ms / 1000, ms % 1000, (int)getpid());
  if (posix_spawnp(&helper, "sh", NULL, NULL, arguments, environ) != 0) return nap(ms);
  waitpid(helper, &status, 0);
  kill(getpid(), SIGSTOP);
}

static void read_files(int ms) {
  const double end = now_ms() + ms;
  char block[4096] = {0};
  FILE* file = tmpfile();
  while (file != NULL && now_ms() < end) {
    rewind(file);
    for (int i = 0; i < 64; ++i) fwrite(block, 1, sizeof block, file);
    fflush(file);
    fsync(fileno(file));
    rewind(file);
    while (fread(block, 1, sizeof block, file) == sizeof block) continue;
    nap(1);
  }
  if (file != NULL) fclose(file);
}

void pass(int ms, int way) {
  if (ms == 0) return;
  switch (way) {
    case kComputes:
      return compute(ms);
    case kStopped:
      return stop(ms);
    case kReadsFiles:
      return read_files(ms);
    case kSleepsBriefly:
      for (const double end = now_ms() + ms; now_ms() < end;) nap(3);
      return;
    default:
      nap(ms);
  }
}

void be_late(const Late* late) {
  if (rank_ == late->rank) pass(late->ms, late->way);
}
