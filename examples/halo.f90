! A grid in strips of columns, whose borders go to the neighbours; with the module mpi_f08. Rows and columns of
! the grid are passed as they are: sections of arrays need no copy and no datatype.
! mpifort halo.f90 -o halo; mpiexec -n 4 ./halo
program halo
  use mpi_f08
  implicit none
  integer, parameter :: n = 64, steps = 200
  type(MPI_Comm) :: grid
  type(MPI_Request) :: requests(4)
  integer :: rank, size, left, right, step
  real(kind(1d0)), allocatable, asynchronous :: heat(:, :), next(:, :)
  real(kind(1d0)) :: total
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.false.], .true., grid)
  call MPI_Comm_rank(grid, rank)
  call MPI_Cart_shift(grid, 0, 1, left, right)
  allocate (heat(n, 0:n + 1), next(n, 0:n + 1))
  heat = 0
  if (rank == 0) heat(:, 0) = 1
  next = heat
  do step = 1, steps
    call MPI_Irecv(heat(2:n - 1, 0), n - 2, MPI_DOUBLE_PRECISION, left, 0, grid, requests(1))
    call MPI_Irecv(heat(2:n - 1, n + 1), n - 2, MPI_DOUBLE_PRECISION, right, 0, grid, requests(2))
    call MPI_Isend(heat(2:n - 1, 1), n - 2, MPI_DOUBLE_PRECISION, left, 0, grid, requests(3))
    call MPI_Isend(heat(2:n - 1, n), n - 2, MPI_DOUBLE_PRECISION, right, 0, grid, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    next(2:n - 1, 1:n) = (heat(1:n - 2, 1:n) + heat(3:n, 1:n) + heat(2:n - 1, 0:n - 1) + heat(2:n - 1, 2:n + 1)) / 4
    heat(2:n - 1, 1:n) = next(2:n - 1, 1:n)
  end do
  ! All strips together: the middle row.
  call MPI_Allreduce(sum(heat(n / 2, 1:n)), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid)
  if (rank == 0) print '(a,f8.4)', 'heat in the middle row: ', total
  call MPI_Finalize()
end program
