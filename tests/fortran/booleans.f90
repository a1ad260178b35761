! The values of .TRUE. and .FALSE. that MPI_Abi_set_fortran_booleans sets after MPI_Init hold from then on. Through
! implicit interfaces, so that INTEGERs can be passed as LOGICALs of another compiler.
program booleans
  implicit none
  include 'mpif.h'
  logical :: flag
  integer :: yes, no, is_set, ierror
  call MPI_Init(ierror)
  call MPI_Initialized(flag, ierror)
  if (transfer(flag, 0) /= 1) error stop 1
  call MPI_Abi_set_fortran_booleans(4, -1, 0, ierror)
  if (ierror /= MPI_SUCCESS) error stop 2
  call MPI_Initialized(flag, ierror)
  if (transfer(flag, 0) /= -1) error stop 3
  call MPI_Finalized(flag, ierror)
  if (transfer(flag, 0) /= 0) error stop 4
  call MPI_Abi_get_fortran_booleans(4, yes, no, is_set, ierror)
  if (yes /= -1 .or. no /= 0 .or. is_set /= -1) error stop 5
  call MPI_Finalize(ierror)
end program booleans
