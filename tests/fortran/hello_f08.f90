! The module mpi_f08: handles are derived types, ierror is optional.
program hello
  use mpi_f08
  implicit none
  integer :: rank, size, n, ierror
  integer :: got(3), sent(3)
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: comm
  real :: x(4, 4)
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  if (.not. MPI_SUBARRAYS_SUPPORTED) error stop 20
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  if (ierror /= MPI_SUCCESS) error stop 1
  sent = [rank, 2, 3]
  call MPI_Irecv(got, 3_MPI_COUNT_KIND, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(sent, 3, MPI_INTEGER, modulo(rank + 1, size), 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitany(1, requests, n, status)
  if (n /= 1 .or. status%MPI_SOURCE /= modulo(rank - 1, size)) error stop 2
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (any([requests(1) /= MPI_REQUEST_NULL, requests(2) /= MPI_REQUEST_NULL])) error stop 3
  call MPI_Get_count(status, MPI_INTEGER, n)
  if (n /= 3 .or. got(1) /= status%MPI_SOURCE) error stop 4
  x = real(rank)
  call MPI_Bcast(x(2, :), 4, MPI_REAL, 0, MPI_COMM_WORLD)
  if (any(x(2, :) /= 0) .or. any(x(1, :) /= real(rank))) error stop 5
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_name(comm, "copy of world  ")
  call MPI_Comm_get_name(comm, name, n)
  if (name /= "copy of world" .or. n /= 13) error stop 6
  call MPI_Comm_free(comm)
  if (comm /= MPI_COMM_NULL) error stop 7
  call MPI_Finalized(flag)
  if (flag) error stop 8
  print '(a,i0)', 'hello ', rank
  call MPI_Finalize()
end program
