! The module mpi: explicit interfaces, handles are INTEGERs.
program hello
  use mpi
  implicit none
  integer :: ierror, rank, size, n, status(MPI_STATUS_SIZE), sent(3), got(3)
  real :: x(4, 4), y
  integer(kind=MPI_ADDRESS_KIND) :: address, extent, lb
  type(MPI_Comm) :: comm
  logical :: flag
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  sent = [rank, 2, 3]
  call MPI_Sendrecv(sent, 3, MPI_INTEGER, modulo(rank + 1, size), 1, got, 3, MPI_INTEGER, MPI_ANY_SOURCE, 1, &
                    MPI_COMM_WORLD, status, ierror)
  if (got(1) /= modulo(rank - 1, size) .or. status(MPI_SOURCE) /= got(1)) error stop 1
  call MPI_Get_count(status, MPI_INTEGER, n, ierror)
  if (n /= 3) error stop 2
  ! A scalar, an element and a section, which the compiler copies.
  y = real(rank)
  call MPI_Bcast(y, 1, MPI_REAL, 0, MPI_COMM_WORLD, ierror)
  if (y /= 0) error stop 3
  x = real(rank)
  call MPI_Bcast(x(2, :), 4, MPI_REAL, 0, MPI_COMM_WORLD, ierror)
  if (any(x(2, :) /= 0) .or. any(x(1, :) /= real(rank))) error stop 4
  call MPI_Get_address(x(1, 1), address, ierror)
  call MPI_Type_get_extent(MPI_DOUBLE_PRECISION, lb, extent, ierror)
  if (extent /= 8 .or. MPI_Aint_diff(MPI_Aint_add(address, extent), address) /= 8) error stop 5
  comm = MPI_Comm(MPI_COMM_WORLD)
  if (comm /= MPI_Comm(MPI_COMM_WORLD) .or. comm == MPI_Comm(MPI_COMM_SELF)) error stop 6
  call MPI_Finalized(flag, ierror)
  if (flag) error stop 7
  call MPI_Sizeof(address, n, ierror)
  if (n /= 8) error stop 8
  print '(a,i0)', 'hello ', rank
  call MPI_Finalize(ierror)
end program
