/* Functions that no other program of tests/multi calls. */
#include "../coll/check.h"

#define DO(call)                                                 \
  do {                                                           \
    const int code_ = (call);                                    \
    CHECK(code_ == MPI_SUCCESS, "%s returned %d", #call, code_); \
  } while (0)

static void abi(void) {
  MPI_Info info = MPI_INFO_NULL;
  DO(MPI_Abi_get_info(&info));
  int keys = 0;
  DO(MPI_Info_get_nkeys(info, &keys));
  CHECK(keys > 0, "the ABI has no information");
  DO(MPI_Info_free(&info));
  DO(MPI_Abi_get_fortran_info(&info));
  if (info != MPI_INFO_NULL) DO(MPI_Info_free(&info));
}

static void error_codes(void) {
  int error_class, error_code;
  DO(MPI_Add_error_class(&error_class));
  DO(MPI_Add_error_code(error_class, &error_code));
  DO(MPI_Add_error_string(error_code, "out of flour"));
  char text[MPI_MAX_ERROR_STRING];
  int length;
  DO(MPI_Error_string(error_code, text, &length));
  CHECK(strcmp(text, "out of flour") == 0, "the string is %s", text);
  DO(MPI_Remove_error_string(error_code));
  DO(MPI_Remove_error_code(error_code));
  DO(MPI_Remove_error_class(error_class));
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  abi();
  error_codes();
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  DO(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && (size_t)length == strlen(name), "the name %s has %d bytes", name, length);
  MPI_Comm parent;
  DO(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL, "there is a parent");
  DO(MPI_Finalize());
  return 0;
}
