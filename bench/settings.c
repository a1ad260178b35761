#include "settings.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void stop(const char* what, const char* word) {
  fprintf(stderr, "settings: %s '%s'\n", what, word);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static void set(const char* name, long long value) {
  MPI_T_cvar_handle handle;
  MPI_Datatype type;
  MPI_T_enum enumeration;
  MPI_Count number = value;
  int index, count, verbosity, bind, scope, flag = (int)value;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) stop("there is no variable", name);
  MPI_T_cvar_get_info(index, NULL, NULL, &verbosity, &type, &enumeration, NULL, NULL, &bind, &scope);
  MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
  if (MPI_T_cvar_write(handle, type == MPI_INT ? (void*)&flag : (void*)&number) != MPI_SUCCESS)
    stop("cannot be set:", name);
  MPI_T_cvar_handle_free(&handle);
}

void settings_apply(const char* settings) {
  char name[128];
  long long value;
  int length;
  while (sscanf(settings, " %127[a-z0-9_]=%lld%n", name, &value, &length) == 2) {
    set(name, value);
    settings += length;
  }
}
