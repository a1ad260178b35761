/* Shared by the programs of this folder: calls on files whose error is named, and a file of the job. */
#ifndef TESTS_MULTI_IO_FILE_H
#define TESTS_MULTI_IO_FILE_H

#include <unistd.h>

#include "../coll/check.h"

static inline const char* words_of(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  return text;
}

/* A call that has to succeed. */
#define DO(call)                                                         \
  do {                                                                   \
    const int code_ = (call);                                            \
    CHECK(code_ == MPI_SUCCESS, "%s fails: %s", #call, words_of(code_)); \
  } while (0)

/* A call that has to fail with this class. */
#define FAILS(call, error_class)                                                                 \
  do {                                                                                           \
    const int code_ = (call);                                                                    \
    CHECK(class_of(code_) == (error_class), "%s: class %d (%s) instead of " #error_class, #call, \
          class_of(code_), code_ == MPI_SUCCESS ? "success" : words_of(code_));                  \
  } while (0)

/* A name that all processes of the job share and no other job uses. IO_FOLDER: its folder. */
static inline const char* shared_name(const char* name) {
  static char path[512];
  const char* const folder = getenv("IO_FOLDER");
  int process = (int)getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/file_test_%s.%d", folder != NULL ? folder : "/tmp", name, process);
  return path;
}

static inline MPI_File open_new(const char* name) {
  MPI_File file = MPI_FILE_NULL;
  DO(MPI_File_open(MPI_COMM_WORLD, shared_name(name),
                   MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
  return file;
}

#endif
