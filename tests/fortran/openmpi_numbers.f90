! A program with the numbers and COMMON blocks of Open MPI's mpif.h, which needs no file of Open MPI: linked to
! libmpi_mpifh.so.40.
program openmpi_numbers
  implicit none
  integer, parameter :: world = 0, null_comm = 2, type_integer = 7, type_double = 17, type_lb = 4, type_ub = 3
  integer, parameter :: op_sum = 3, any_source = -1, any_tag = -1, request_null = 0, errors_return = 2
  integer, parameter :: err_rank = 6, source = 1, tag = 2, tag_ub = 0
  integer :: ierror, rank, size, n, comm, request, datatype, key, class
  integer :: status(6), got(4), sent(4), types(3), lengths(3), places(3)
  logical :: flag
  integer :: mpi_in_place, mpi_status_ignore(6)
  common /mpi_fortran_in_place/ mpi_in_place
  common /mpi_fortran_status_ignore/ mpi_status_ignore
  external :: MPI_Init, MPI_Comm_rank, MPI_Comm_size, MPI_Sendrecv, MPI_Get_count, MPI_Irecv, MPI_Send, MPI_Wait
  external :: MPI_Allreduce, MPI_Comm_dup, MPI_Comm_free, MPI_Type_struct, MPI_Type_extent, MPI_Type_free
  external :: MPI_Attr_get, MPI_Comm_set_errhandler, MPI_Error_class, MPI_Finalize

  call MPI_Init(ierror)
  call MPI_Comm_rank(world, rank, ierror)
  call MPI_Comm_size(world, size, ierror)
  sent = rank
  call MPI_Sendrecv(sent, 4, type_integer, modulo(rank + 1, size), 7, got, 4, type_integer, any_source, any_tag, &
                    world, status, ierror)
  if (status(source) /= modulo(rank - 1, size) .or. status(tag) /= 7) error stop 1
  call MPI_Get_count(status, type_integer, n, ierror)
  if (n /= 4 .or. got(4) /= status(source)) error stop 2
  call MPI_Irecv(got, 1, type_integer, rank, 1, world, request, ierror)
  call MPI_Send(sent, 1, type_integer, rank, 1, world, ierror)
  call MPI_Wait(request, mpi_status_ignore, ierror)
  if (request /= request_null) error stop 3
  got = rank
  call MPI_Allreduce(mpi_in_place, got, 4, type_integer, op_sum, world, ierror)
  if (any(got /= size * (size - 1) / 2)) error stop 4
  call MPI_Comm_dup(world, comm, ierror)
  if (comm <= null_comm) error stop 5
  call MPI_Comm_free(comm, ierror)
  if (comm /= null_comm) error stop 6
  types = [type_lb, type_double, type_ub]
  lengths = 1
  places = [-8, 0, 24]
  call MPI_Type_struct(3, lengths, places, types, datatype, ierror)
  call MPI_Type_extent(datatype, n, ierror)
  if (n /= 32) error stop 7
  call MPI_Type_free(datatype, ierror)
  call MPI_Attr_get(world, tag_ub, key, flag, ierror)
  if (.not. flag .or. key < 32767) error stop 8
  call MPI_Comm_set_errhandler(world, errors_return, ierror)
  call MPI_Send(sent, 1, type_integer, size, 0, world, ierror)
  call MPI_Error_class(ierror, class, n)
  if (class /= err_rank) error stop 9
  print '(a,i0)', 'hello ', rank
  call MPI_Finalize(ierror)
end program
