/* The half of attributes.f90 in C. */
#include <mpi.h>

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
  return status.MPI_SOURCE == 1 && status.MPI_TAG == 2 && status.MPI_ERROR == 3;
}
