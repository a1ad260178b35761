! A number goes around all ranks; with the module mpi.
! mpifort ring.f90 -o ring; mpiexec -n 4 ./ring
program ring
  use mpi
  implicit none
  integer :: ierror, rank, size, next, previous, number, status(MPI_STATUS_SIZE)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  next = modulo(rank + 1, size)
  previous = modulo(rank - 1, size)
  if (rank > 0) then
    call MPI_Recv(number, 1, MPI_INTEGER, previous, 0, MPI_COMM_WORLD, status, ierror)
  else
    number = 0
  end if
  number = number + 1
  if (rank == 0 .and. size > 1) then
    call MPI_Send(number, 1, MPI_INTEGER, next, 0, MPI_COMM_WORLD, ierror)
    call MPI_Recv(number, 1, MPI_INTEGER, previous, 0, MPI_COMM_WORLD, status, ierror)
  else if (rank > 0) then
    call MPI_Send(number, 1, MPI_INTEGER, next, 0, MPI_COMM_WORLD, ierror)
  end if
  if (rank == 0) print '(a,i0,a)', 'the number has passed ', number, ' ranks'
  call MPI_Finalize(ierror)
end program
