/* The driver as a program in Fortran (-DDRIVER_FORTRAN, for bench/compare --fortran): point-to-point calls go
 * to the routines of libmpifort_abi.so.1, by the calling convention of Fortran. All arguments are addresses;
 * handles are INTEGERs, which for predefined ones are the numbers of C (MPI 5.0 appendix A). */
#ifndef DRIVER_FORTRAN_H
#define DRIVER_FORTRAN_H

#include <stdint.h>

void mpi_send_(const void*, const int*, const int*, const int*, const int*, const int*, int*);
void mpi_recv_(void*, const int*, const int*, const int*, const int*, const int*, int*, int*);
void mpi_isend_(const void*, const int*, const int*, const int*, const int*, const int*, int*, int*);
void mpi_irecv_(void*, const int*, const int*, const int*, const int*, const int*, int*, int*);
void mpi_waitall_(const int*, int*, int*, int*);
extern int mpi_fortran_status_ignore_[], mpi_fortran_statuses_ignore_[];

static inline int fortran_number(const void* handle) {
  return (int)(intptr_t)handle;
}

static inline int fortran_send(const void* buffer, int count, MPI_Datatype type, int partner, int tag,
                               MPI_Comm comm) {
  const int type_ = fortran_number(type), comm_ = fortran_number(comm);
  int error;
  mpi_send_(buffer, &count, &type_, &partner, &tag, &comm_, &error);
  return error;
}

static inline int fortran_recv(void* buffer, int count, MPI_Datatype type, int partner, int tag,
                               MPI_Comm comm) {
  const int type_ = fortran_number(type), comm_ = fortran_number(comm);
  int error;
  mpi_recv_(buffer, &count, &type_, &partner, &tag, &comm_, mpi_fortran_status_ignore_, &error);
  return error;
}

static inline int fortran_isend(const void* buffer, int count, MPI_Datatype type, int partner, int tag,
                                MPI_Comm comm, int* request) {
  const int type_ = fortran_number(type), comm_ = fortran_number(comm);
  int error;
  mpi_isend_(buffer, &count, &type_, &partner, &tag, &comm_, request, &error);
  return error;
}

static inline int fortran_irecv(void* buffer, int count, MPI_Datatype type, int partner, int tag,
                                MPI_Comm comm, int* request) {
  const int type_ = fortran_number(type), comm_ = fortran_number(comm);
  int error;
  mpi_irecv_(buffer, &count, &type_, &partner, &tag, &comm_, request, &error);
  return error;
}

static inline int fortran_waitall(int count, int* requests) {
  int error;
  mpi_waitall_(&count, requests, mpi_fortran_statuses_ignore_, &error);
  return error;
}

/* The driver passes no statuses to these. */
#define MPI_Request int
#define MPI_Send fortran_send
#define MPI_Recv(buffer, count, type, partner, tag, comm, status) \
  fortran_recv(buffer, count, type, partner, tag, comm)
#define MPI_Isend fortran_isend
#define MPI_Irecv fortran_irecv
#define MPI_Waitall(count, requests, statuses) fortran_waitall(count, requests)

#endif
