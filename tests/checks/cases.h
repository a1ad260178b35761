// A program of test cases, one per run: program CASE. The case's name and cases.txt state its error, if it
// has one. Includes only mpi.h, so that other tools can be run on the same programs.
#ifndef CASES_H
#define CASES_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

struct Case {
  const char* name;
  void (*run)(int rank, int size);
};

#define CASE(name) static void name(int rank, int size)
#define ROW(name) \
  { #name, name }

// `level`: the requested thread level.
static int run_cases(int argc, char** argv, int level, const struct Case* cases, size_t count) {
  int provided, rank, size;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(W, &rank);
  MPI_Comm_size(W, &size);
  for (size_t i = 0; i < count; ++i) {
    if (argc == 2 && strcmp(cases[i].name, argv[1]) == 0) {
      cases[i].run(rank, size);
      MPI_Finalize();
      return 0;
    }
  }
  fprintf(stderr, "no such case\n");
  return 2;
}

#define PROGRAM(...) PROGRAM_WITH(MPI_THREAD_SINGLE, __VA_ARGS__)
#define PROGRAM_WITH(level, ...)                                                \
  int main(int argc, char** argv) {                                             \
    static const struct Case cases[] = {__VA_ARGS__};                           \
    return run_cases(argc, argv, level, cases, sizeof cases / sizeof cases[0]); \
  }

#define UNUSED (void)rank, (void)size

#endif
