/* The number of collective regions in use, from the tool interface. */
#pragma once

#include "fault.h"

static long long regions_taken(void) {
  int provided, index, count = 0;
  unsigned long long value = 0;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  CHECK(MPI_T_pvar_get_index("coll_regions_taken", MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS,
        "no such variable");
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
  MPI_T_pvar_read(session, handle, &value);
  MPI_T_pvar_handle_free(session, &handle);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return (long long)value;
}
