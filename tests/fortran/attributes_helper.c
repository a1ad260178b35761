/* The half of attributes.f90 in C. */
#include <mpi.h>
#include <string.h>

static long cell;

void set_in_c(int comm, int keyval) {
  MPI_Comm_set_attr(MPI_Comm_fromint(comm), keyval, &cell);
}

MPI_Aint get_in_c(int comm, int keyval) {
  MPI_Aint* value = 0;
  int flag = 0;
  MPI_Comm_get_attr(MPI_Comm_fromint(comm), keyval, &value, &flag);
  return flag ? *value : -1;
}

MPI_Aint address_in_c(void) {
  return (MPI_Aint)&cell;
}

int statuses_in_c(const int* f_status) {
  MPI_Status status;
  MPI_Status_f2c(f_status, &status);
  if (status.MPI_SOURCE != 1 || status.MPI_TAG != 2 || status.MPI_ERROR != 3) return 0;
  MPI_F08_status f08;
  int again[MPI_F_STATUS_SIZE] = {0};
  MPI_Status_c2f08(&status, &f08);
  MPI_Status_f082f(&f08, again);
  if (memcmp(again, f_status, sizeof again) != 0) return 0;
  MPI_Status_f2f08(f_status, &f08);
  MPI_Status_f082c(&f08, &status);
  return memcmp(&status, f_status, sizeof again) == 0;
}
