! ALLOCATE of Fortran where ranks share the heap; MPI is called by way of allocate_helper.c.
program allocate
  use iso_c_binding
  implicit none
  interface
    subroutine start() bind(c, name="helper_start")
    end subroutine
    subroutine finish() bind(c, name="helper_finish")
    end subroutine
    subroutine pass_on(out, in, bytes) bind(c, name="helper_pass_on")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: out, in
      integer(c_size_t), value :: bytes
    end subroutine
    integer(c_int) function in_window(memory) bind(c, name="helper_in_window")
      import :: c_ptr, c_int
      type(c_ptr), value :: memory
    end function
  end interface
  real(c_double), allocatable, target :: before(:), out(:), in(:)
  integer :: i

  allocate (before(100000))
  call start()
  allocate (out(200000), in(200000))
  if (in_window(c_loc(before)) /= 0) error stop "memory from before MPI_Init is in the window"
  if (in_window(c_loc(out)) == 0) error stop "memory of ALLOCATE is not in the window"
  do i = 1, size(out)
    out(i) = 0.5d0 * i
  end do
  call pass_on(c_loc(out), c_loc(in), int(size(out) * 8, c_size_t))
  if (any(in /= out)) error stop "a message is wrong"
  deallocate (before, out)
  call finish()
end program
