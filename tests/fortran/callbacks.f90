! Procedures of the program that MPI calls: operations, error handlers, generalized requests, keys of
! attributes, representations of data.
module procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: handled = 0, copied = 0, deleted = 0, queried = 0, freed = 0, cancelled = 0
  integer(kind=MPI_ADDRESS_KIND) :: last_extra = 0
  type(MPI_Comm) :: handled_comm
contains
  ! Composition of the functions a x + b, which is associative and not commutative.
  subroutine compose(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: left(:, :), right(:, :)
    if (datatype /= MPI_2INTEGER) error stop 30
    call c_f_pointer(invec, left, [2, len])
    call c_f_pointer(inoutvec, right, [2, len])
    right(2, :) = left(1, :) * right(2, :) + left(2, :)
    right(1, :) = left(1, :) * right(1, :)
  end subroutine

  subroutine compose_large(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    call compose(invec, inoutvec, int(len), datatype)
  end subroutine

  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    integer :: class
    call MPI_Error_class(error_code, class)
    if (class /= MPI_ERR_RANK .and. class /= MPI_ERR_OTHER) error stop 31
    handled_comm = comm
    handled = handled + 1
  end subroutine

  subroutine on_file_error(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    if (file /= MPI_FILE_NULL .or. error_code == MPI_SUCCESS) error stop 32
    handled = handled + 100
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queried = queried + 1
    last_extra = extra_state
    status%MPI_SOURCE = 42
    status%MPI_TAG = 43
    call MPI_Status_set_elements(status, MPI_INTEGER, 7)
    call MPI_Status_set_cancelled(status, .false.)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    if (extra_state /= last_extra) error stop 33
    freed = freed + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (complete .or. extra_state /= 123456789012_8) error stop 34
    cancelled = cancelled + 1
    ierror = MPI_SUCCESS
  end subroutine

  ! The copy is the value plus the extra state.
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    if (oldcomm == MPI_COMM_NULL .or. comm_keyval == MPI_KEYVAL_INVALID) error stop 35
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    copied = copied + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine remove(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (comm == MPI_COMM_NULL .or. comm_keyval == MPI_KEYVAL_INVALID) error stop 36
    if (attribute_val < 2_8**40 .or. extra_state /= 5) error stop 37
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine extent_of(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    integer(kind=MPI_ADDRESS_KIND) :: lb
    if (extra_state /= 9) error stop 38
    call MPI_Type_get_extent(datatype, lb, extent)
    ierror = MPI_SUCCESS
  end subroutine
end module

program callbacks
  use procedures
  implicit none
  integer :: rank, size, i, expected(2), found(2), got, error, keyval, second_key
  integer(kind=MPI_ADDRESS_KIND) :: value
  type(MPI_Comm) :: comm, again
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: handler
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)

  expected = [1, 0]
  do i = size, 1, -1
    expected = [3 * expected(1), 3 * expected(2) + i]
  end do
  call MPI_Op_create(compose, .false., op)
  call MPI_Op_commutative(op, flag)
  if (flag) error stop 1
  call MPI_Allreduce([3, rank + 1], found, 1, MPI_2INTEGER, op, MPI_COMM_WORLD)
  if (any(found /= expected)) error stop 2
  call MPI_Op_free(op)
  if (op /= MPI_OP_NULL) error stop 3
  call MPI_Op_create_c(compose_large, .false., op)
  call MPI_Allreduce([3, rank + 1], found, 1, MPI_2INTEGER, op, MPI_COMM_WORLD)
  if (any(found /= expected)) error stop 4
  call MPI_Op_free(op)

  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_create_errhandler(on_error, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Errhandler_free(handler)
  call MPI_Send(rank, 1, MPI_INTEGER, size + 5, 0, comm, error)
  if (error == MPI_SUCCESS .or. handled /= 1 .or. handled_comm /= comm) error stop 5
  call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER)
  if (handled /= 2) error stop 6
  call MPI_File_create_errhandler(on_file_error, handler)
  call MPI_File_set_errhandler(MPI_FILE_NULL, handler)
  call MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_FILE)
  if (handled /= 102) error stop 7

  call MPI_Grequest_start(query, release, cancel, 123456789012_MPI_ADDRESS_KIND, request)
  call MPI_Test(request, flag, MPI_STATUS_IGNORE)
  if (flag) error stop 8
  call MPI_Cancel(request)
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_elements(status, MPI_INTEGER, got)
  if (status%MPI_SOURCE /= 42 .or. status%MPI_TAG /= 43 .or. got /= 7) error stop 9
  if (queried /= 1 .or. freed /= 1 .or. cancelled /= 1 .or. last_extra /= 123456789012_8) error stop 10

  call MPI_Comm_create_keyval(copy, remove, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, second_key, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, 2_MPI_ADDRESS_KIND**40)
  call MPI_Comm_set_attr(comm, second_key, -3_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(comm, again)
  call MPI_Comm_get_attr(again, keyval, value, flag)
  if (.not. flag .or. value /= 2_8**40 + 5 .or. copied /= 1) error stop 11
  call MPI_Comm_get_attr(again, second_key, value, flag)
  if (.not. flag .or. value /= -3) error stop 12
  call MPI_Comm_delete_attr(again, keyval)
  call MPI_Comm_get_attr(again, keyval, value, flag)
  if (flag .or. deleted /= 1) error stop 13
  call MPI_Comm_set_attr(comm, keyval, 2_MPI_ADDRESS_KIND**40 + 1)
  if (deleted /= 2) error stop 14
  call MPI_Comm_free(again)
  call MPI_Comm_free(comm)
  if (deleted /= 3) error stop 15
  call MPI_Comm_free_keyval(keyval)
  if (keyval /= MPI_KEYVAL_INVALID) error stop 16

  call MPI_Register_datarep('own of fortran', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, &
                            9_MPI_ADDRESS_KIND, error)
  if (error /= MPI_SUCCESS) error stop 17
  print '(a,i0)', 'callbacks ', rank
  call MPI_Finalize()
end program
