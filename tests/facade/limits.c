/* Strings in buffers as long as the ABI of the facade says, which are shorter than those of the standard ABI.
   Compiled without a header: the prototypes below are those of that ABI. Exit code 0: no byte beyond a buffer
   was written, and long strings were truncated. Also the number of MPI_FILE_NULL, which is 0 in Fortran. */
#include <stdio.h>
#include <string.h>

#ifdef ABI_OPENMPI
typedef void* Handle;
extern char ompi_mpi_comm_self[512];
extern char ompi_mpi_file_null[1536];
#define COMM_SELF ((Handle)ompi_mpi_comm_self)
#define FILE_NULL ((void*)ompi_mpi_file_null)
enum { ERROR_STRING = 256, OBJECT_NAME = 64, LIBRARY_VERSION = 256, INFO_KEY = 36, PROCESSOR_NAME = 256 };
#else
typedef int Handle;
#define COMM_SELF 0x44000001
#define FILE_NULL ((void*)0)
enum { ERROR_STRING = 512, OBJECT_NAME = 128, LIBRARY_VERSION = 8192, INFO_KEY = 255, PROCESSOR_NAME = 128 };
#endif

int MPI_Init(int*, char***);
int MPI_Finalize(void);
int MPI_Get_processor_name(char*, int*);
int MPI_Get_library_version(char*, int*);
int MPI_Error_string(int, char*, int*);
int MPI_Comm_set_name(Handle, const char*);
int MPI_Comm_get_name(Handle, char*, int*);
int MPI_Info_create(Handle*);
int MPI_Info_set(Handle, const char*, const char*);
int MPI_Info_get_nthkey(Handle, int, char*);
int MPI_Info_free(Handle*);
int MPI_File_c2f(void*);
void* MPI_File_f2c(int);

static char memory[8192 + 64];
static int wrong;

static char* fresh(void) {
  return memset(memory, '#', sizeof memory);
}

/* The buffer has `size` bytes and contains a string, and the bytes after the buffer are unchanged. */
static void expect(const char* what, int size, int length) {
  const int found = (int)strnlen(memory, (size_t)size);
  const int kept = memory[size] == '#' && memory[size + 63] == '#';
  if (kept && found < size && (length < 0 || length == found)) return;
  fprintf(stderr, "%s: length %d of %d bytes, reported %d, %s\n", what, found, size, length,
          kept ? "within the buffer" : "written beyond the buffer");
  wrong = 1;
}

int main(int argc, char** argv) {
  int length = -1;
  char long_name[256];
  MPI_Init(&argc, &argv);

  MPI_Get_processor_name(fresh(), &length);
  expect("MPI_Get_processor_name", PROCESSOR_NAME, length);
  MPI_Get_library_version(fresh(), &length);
  expect("MPI_Get_library_version", LIBRARY_VERSION, length);
  for (int code = 0; code < 80; ++code) {
    MPI_Error_string(code, fresh(), &length);
    expect("MPI_Error_string", ERROR_STRING, length);
  }

  memset(long_name, 'n', sizeof long_name);
  long_name[120] = 0;
  MPI_Comm_set_name(COMM_SELF, long_name);
  MPI_Comm_get_name(COMM_SELF, fresh(), &length);
  expect("MPI_Comm_get_name", OBJECT_NAME, length);
  if (length != (OBJECT_NAME - 1 < 120 ? OBJECT_NAME - 1 : 120)) wrong = 1;

  Handle info;
  memset(long_name, 'k', sizeof long_name);
  long_name[255] = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, long_name, "value");
  MPI_Info_get_nthkey(info, 0, fresh());
  expect("MPI_Info_get_nthkey", INFO_KEY, -1);
  if ((int)strlen(memory) != INFO_KEY - 1) wrong = 1;
  MPI_Info_free(&info);

  if (MPI_File_c2f(FILE_NULL) != 0 || MPI_File_f2c(0) != FILE_NULL) {
    fprintf(stderr, "MPI_FILE_NULL has the number %d\n", MPI_File_c2f(FILE_NULL));
    wrong = 1;
  }

  MPI_Finalize();
  return wrong;
}
