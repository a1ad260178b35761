/* Functions that may be called outside MPI_Init .. MPI_Finalize (MPI 5.0 section 11.4.1) work there. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
      ++failures;                                                           \
    }                                                                       \
  } while (0)

static void on_comm(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
}
static void on_win(MPI_Win* win, int* code, ...) {
  (void)win;
  (void)code;
}
static void on_file(MPI_File* file, int* code, ...) {
  (void)file;
  (void)code;
}
static void on_session(MPI_Session* session, int* code, ...) {
  (void)session;
  (void)code;
}

static void try_all(int initialized, int finalized) {
  int flag = -1, major = 0, minor = 0, length = 0, error_class = 0;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Info info = MPI_INFO_NULL;
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == initialized);
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == finalized);
  CHECK(MPI_Get_version(&major, &minor) == MPI_SUCCESS && major == MPI_VERSION && minor == MPI_SUBVERSION);
  CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor == 0);
  CHECK(MPI_Get_library_version(text, &length) == MPI_SUCCESS && length == (int)strlen(text));
  CHECK(strncmp(text, "Hearth ", 7) == 0);
  CHECK(MPI_Info_create(&info) == MPI_SUCCESS && info != MPI_INFO_NULL);
  CHECK(MPI_Info_set(info, "key", "value") == MPI_SUCCESS);
  CHECK(MPI_Info_free(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
  MPI_Errhandler handlers[4];
  CHECK(MPI_Comm_create_errhandler(on_comm, &handlers[0]) == MPI_SUCCESS);
  CHECK(MPI_Win_create_errhandler(on_win, &handlers[1]) == MPI_SUCCESS);
  CHECK(MPI_File_create_errhandler(on_file, &handlers[2]) == MPI_SUCCESS);
  CHECK(MPI_Session_create_errhandler(on_session, &handlers[3]) == MPI_SUCCESS);
  for (int i = 0; i < 4; ++i) CHECK(MPI_Errhandler_free(&handlers[i]) == MPI_SUCCESS);
  CHECK(MPI_Error_class(MPI_ERR_TAG, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_TAG);
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101 && MPI_Comm_fromint(0x101) == MPI_COMM_WORLD);
  CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
}

int main(int argc, char** argv) {
  try_all(0, 0);
  MPI_Init(&argc, &argv);
  try_all(1, 0);
  MPI_Finalize();
  try_all(1, 1);
  return failures == 0 ? 0 : 1;
}
