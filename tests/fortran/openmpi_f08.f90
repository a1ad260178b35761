! A program for Open MPI: built with its module mpi_f08 and started on Hearth by test_facades.py.
module procedures
  use mpi_f08
  implicit none
contains
  subroutine multiply(invec, inoutvec, length, datatype)
    use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    if (datatype /= MPI_INTEGER) error stop 90
    call c_f_pointer(invec, in, [length])
    call c_f_pointer(inoutvec, inout, [length])
    inout = inout * in
  end subroutine
end module

program for_openmpi
  use mpi_f08
  use procedures
  implicit none
  integer :: rank, size, n, ierror, key
  integer :: got(3), sent(3)
  integer(kind=MPI_ADDRESS_KIND) :: value, copied
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: comm, other
  type(MPI_Op) :: op
  logical :: flag
  double precision :: x(2, 2)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  if (ierror /= MPI_SUCCESS) error stop 1
  sent = [rank, 2, 3]
  call MPI_Irecv(got, 3, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(sent, 3, MPI_INTEGER, modulo(rank + 1, size), 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitany(1, requests, n, status)
  if (n /= 1 .or. status%MPI_SOURCE /= modulo(rank - 1, size)) error stop 2
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (any([requests(1) /= MPI_REQUEST_NULL, requests(2) /= MPI_REQUEST_NULL])) error stop 3
  call MPI_Get_count(status, MPI_INTEGER, n)
  if (n /= 3 .or. got(1) /= status%MPI_SOURCE) error stop 4
  got = 2
  call MPI_Op_create(multiply, .true., op)
  call MPI_Allreduce(MPI_IN_PLACE, got, 3, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (any(got /= 2**size)) error stop 5
  call MPI_Op_free(op)
  if (.not. op == MPI_OP_NULL) error stop 6
  value = 7
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, value)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_attr(comm, key, value)
  call MPI_Comm_dup(comm, other)
  call MPI_Comm_get_attr(other, key, copied, flag)
  if (.not. flag .or. copied /= value) error stop 7
  call MPI_Comm_free(other)
  call MPI_Comm_free_keyval(key)
  call MPI_Comm_set_name(comm, "copy of world  ")
  call MPI_Comm_get_name(comm, name, n)
  if (name /= "copy of world" .or. n /= 13) error stop 8
  call MPI_Comm_free(comm)
  if (comm /= MPI_COMM_NULL) error stop 9
  call MPI_Sizeof(x, n)
  if (n /= 8) error stop 10
  print '(a,i0)', 'hello ', rank
  call MPI_Finalize()
end program
