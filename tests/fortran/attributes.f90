! Attributes across languages (MPI 5.0 section 19.3.7); the functions in C are in attributes_helper.c. Uses
! the module mpi, which has the calls of MPI-1 as well.
program attributes
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t
  implicit none
  interface
    subroutine set_in_c(comm, keyval) bind(c)
      import :: c_int
      integer(c_int), value :: comm, keyval
    end subroutine
    integer(c_intptr_t) function get_in_c(comm, keyval) bind(c)
      import :: c_int, c_intptr_t
      integer(c_int), value :: comm, keyval
    end function
    integer(c_intptr_t) function address_in_c() bind(c)
      import :: c_intptr_t
    end function
    integer(c_int) function statuses_in_c(status) bind(c)
      import :: c_int
      integer(c_int) :: status(*)
    end function
  end interface
  integer :: ierror, keyval, old_key, old_value, comm, win, memory(4), status(MPI_STATUS_SIZE)
  integer(kind=MPI_ADDRESS_KIND) :: value, address
  logical :: flag
  type(MPI_Status) :: new_status
  call MPI_Init(ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, ierror)

  ! Set in Fortran, read in C: the address of the integer.
  call MPI_Comm_set_attr(comm, keyval, 1234567890123_MPI_ADDRESS_KIND, ierror)
  if (get_in_c(comm, keyval) /= 1234567890123_8) error stop 1
  ! Set in C, read in Fortran: the pointer.
  call set_in_c(comm, keyval)
  call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
  if (.not. flag .or. value /= address_in_c()) error stop 2

  ! The calls of MPI-1 have default INTEGERs.
  call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, old_key, 0, ierror)
  call MPI_Attr_put(comm, old_key, -5, ierror)
  call MPI_Attr_get(comm, old_key, old_value, flag, ierror)
  if (.not. flag .or. old_value /= -5) error stop 3
  call MPI_Comm_get_attr(comm, old_key, value, flag, ierror)
  if (.not. flag .or. value /= -5) error stop 4
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Attr_get(comm, old_key, old_value, flag, ierror)
  if (flag) error stop 5
  call MPI_Keyval_free(old_key, ierror)

  ! Predefined attributes are values.
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
  if (.not. flag .or. value < 32767) error stop 6
  call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, comm, win, ierror)
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierror)
  call MPI_Get_address(memory, address, ierror)
  if (value /= address) error stop 7
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierror)
  if (value /= 16) error stop 8
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierror)
  if (value /= 4) error stop 9
  call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierror)
  if (value /= MPI_WIN_FLAVOR_CREATE) error stop 10
  call MPI_Win_free(win, ierror)
  call MPI_Comm_free(comm, ierror)

  ! A status is the same in all forms.
  status = [1, 2, 3, 4, 5, 6, 7, 8]
  if (statuses_in_c(status) /= 1) error stop 11
  call MPI_Status_f2f08(status, new_status, ierror)
  if (new_status%MPI_SOURCE /= 1 .or. new_status%MPI_TAG /= 2 .or. new_status%MPI_ERROR /= 3) error stop 12
  status = 0
  call MPI_Status_f082f(new_status, status, ierror)
  if (status(MPI_SOURCE) /= 1 .or. status(MPI_ERROR) /= 3 .or. status(8) /= 8) error stop 13
  print '(a)', 'attributes'
  call MPI_Finalize(ierror)
end program
