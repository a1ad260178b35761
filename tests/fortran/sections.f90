! Sections of arrays as buffers of mpi_f08, against the compiler's own copies of them (pack).
program sections
  use mpi_f08
  implicit none
  type pair
    integer :: first
    real(kind(1d0)) :: second
  end type
  integer, parameter :: n = 6, guard = -777
  integer :: a(n, n, n), b(n, n, n), flat(n**3), got(n**3), round, rank, size, lower(3), upper(3), stride(3), i
  integer :: error, class
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  logical :: wrong = .false.
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  a = reshape([(i, i = 1, n**3)], [n, n, n])
  do round = 1, 400
    call choose()
    call check_section(a(lower(1):upper(1):stride(1), lower(2):upper(2):stride(2), lower(3):upper(3):stride(3)))
  end do
  ! Fewer dimensions, and the strided lower dimension of MPICH's issue 7932.
  call check_section(a(1:n:2, :, 1:2))
  call check_section(a(3:3, :, :))
  call check_section(a(n:1:-1, n:1:-1, n:1:-1))
  call check_scalars()
  call check_components()
  call check_collectives()
  call check_refusals()
  call check_bottom()
  if (wrong) error stop 1
  print '(a,i0)', 'sections ', rank
  call MPI_Finalize()
contains
  subroutine complain(what)
    character(len=*), intent(in) :: what
    print *, what, ' differs in round', round, lower, upper, stride
    wrong = .true.
  end subroutine

  ! Bounds and strides of a section, also negative and empty ones; the same in each run.
  subroutine choose()
    integer :: k
    integer, save :: seed = 12345
    do k = 1, 3
      lower(k) = 1 + next(seed, n)
      upper(k) = 1 + next(seed, n)
      stride(k) = 1 + next(seed, 3)
      if (next(seed, 2) == 1) stride(k) = -stride(k)
      if (next(seed, 8) > 0 .and. (upper(k) - lower(k)) * stride(k) < 0) then
        i = lower(k)
        lower(k) = upper(k)
        upper(k) = i
      end if
    end do
  end subroutine

  integer function next(seed, limit)
    integer, intent(inout) :: seed
    integer, intent(in) :: limit
    seed = iand(seed * 1103 + 12345, 1048575)
    next = mod(seed / 16, limit)
  end function

  subroutine check_section(s)
    integer, intent(in) :: s(:, :, :)
    integer :: m, part
    m = product(shape(s))
    flat(1:m) = pack(s, .true.)
    ! Blocking calls copy; nonblocking ones make a datatype, of the whole section or of a part.
    do part = m, max(m - 3, 0), -1
      got = guard
      call MPI_Sendrecv(s, part, MPI_INTEGER, rank, 0, got, n**3, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, status)
      if (any(got(1:part) /= flat(1:part)) .or. any(got(part + 1:) /= guard)) call complain('blocking')
      got = guard
      call MPI_Irecv(got, n**3, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(s, int(part, MPI_COUNT_KIND), MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      if (any(got(1:part) /= flat(1:part)) .or. any(got(part + 1:) /= guard)) call complain('nonblocking')
      call check_receive(part, m)
    end do
  end subroutine

  ! The same section of another array, as a buffer for receiving: the rest must stay.
  subroutine check_receive(part, m)
    integer, intent(in) :: part, m
    integer :: model(n, n, n), way
    if (m /= section_size()) return
    model = guard
    call fill(model(lower(1):upper(1):stride(1), lower(2):upper(2):stride(2), lower(3):upper(3):stride(3)), part)
    do way = 1, 2
      b = guard
      call receive(b(lower(1):upper(1):stride(1), lower(2):upper(2):stride(2), lower(3):upper(3):stride(3)), &
                   part, way)
      if (any(b /= model)) call complain('receiving')
    end do
  end subroutine

  integer function section_size()
    section_size = product(max(0, (upper - lower + stride) / stride))
  end function

  subroutine fill(s, part)
    integer, intent(inout) :: s(:, :, :)
    integer, intent(in) :: part
    integer :: whole(product(shape(s)))
    whole = guard
    whole(1:part) = flat(1:part)
    s = reshape(whole, shape(s))
  end subroutine

  subroutine receive(s, part, way)
    integer, intent(inout) :: s(:, :, :)
    integer, intent(in) :: part, way
    if (way == 1) then
      call MPI_Sendrecv(flat, part, MPI_INTEGER, rank, 0, s, part, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, status)
    else
      call MPI_Irecv(s, part, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(flat, part, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    end if
  end subroutine

  subroutine check_scalars()
    character(len=5) :: text, copy
    complex :: z(4), w(4)
    real, allocatable :: none(:)
    text = 'hello'
    call MPI_Sendrecv(text, 5, MPI_CHARACTER, rank, 1, copy, 5, MPI_CHARACTER, rank, 1, MPI_COMM_WORLD, status)
    if (copy /= text) call complain('CHARACTER')
    z = [(1, 2), (3, 4), (5, 6), (7, 8)]
    w = 0
    call MPI_Sendrecv(z(1:3:2), 2, MPI_COMPLEX, rank, 1, w(4:2:-2), 2, MPI_COMPLEX, rank, 1, MPI_COMM_WORLD, &
                      status)
    if (w(4) /= z(1) .or. w(2) /= z(3) .or. w(1) /= 0) call complain('COMPLEX')
    ! Two REALs for each element.
    w = 0
    call MPI_Isend(z(1:3:2), 4, MPI_REAL, rank, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Recv(w, 4, MPI_REAL, rank, 1, MPI_COMM_WORLD, status)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    if (w(2) /= z(3) .or. w(3) /= 0) call complain('COMPLEX as REAL')
    allocate (none(0))
    call MPI_Sendrecv(none, 0, MPI_REAL, rank, 1, none, 0, MPI_REAL, rank, 1, MPI_COMM_WORLD, status)
    call MPI_Sizeof(z, i)
    if (i /= 8) call complain('MPI_Sizeof')
  end subroutine

  subroutine check_components()
    type(pair) :: pairs(4)
    real(kind(1d0)) :: values(4)
    pairs = [(pair(i, 10d0 * i), i = 1, 4)]
    call MPI_Isend(pairs%second, 4, MPI_DOUBLE_PRECISION, rank, 2, MPI_COMM_WORLD, requests(1))
    call MPI_Recv(values, 4, MPI_DOUBLE_PRECISION, rank, 2, MPI_COMM_WORLD, status)
    call MPI_Wait(requests(1), status)
    if (any(values /= [10d0, 20d0, 30d0, 40d0])) call complain('a component')
  end subroutine

  subroutine check_collectives()
    integer :: rows(2, 0:size - 1), x(3, 2), y(3, 2), pending(3, 0:size - 1)
    x = rank
    y = guard
    call MPI_Allreduce(x(2, :), y(2, :), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (any(y(2, :) /= size * (size - 1) / 2) .or. any(y(1, :) /= guard)) call complain('MPI_Allreduce')
    call MPI_Allreduce(MPI_IN_PLACE, x(2, :), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (any(x(2, :) /= y(2, :)) .or. any(x(1, :) /= rank)) call complain('MPI_IN_PLACE')
    rows = guard
    call MPI_Allgather(rank, 1, MPI_INTEGER, rows(2, :), 1, MPI_INTEGER, MPI_COMM_WORLD)
    if (any(rows(2, :) /= [(i, i = 0, size - 1)]) .or. any(rows(1, :) /= guard)) call complain('MPI_Allgather')
    ! Nonblocking, one block for each process.
    pending = guard
    call MPI_Iallgather(rank, 1, MPI_INTEGER, pending(2, :), 1, MPI_INTEGER, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    if (any(pending(2, :) /= rows(2, :)) .or. any(pending(1, :) /= guard)) call complain('MPI_Iallgather')
  end subroutine

  ! What a nonblocking call cannot do with gaps ends with an error.
  subroutine check_refusals()
    integer :: x(4, 4), y(4, 4)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    x = 0
    y = 0
    call MPI_Iallreduce(x(2, :), y(2, :), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), error)
    call MPI_Error_class(error, class)
    if (class /= MPI_ERR_BUFFER) call complain('the refusal of MPI_Iallreduce')
    call MPI_Isend(x(2, :), 5, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(1), error)
    call MPI_Error_class(error, class)
    if (class /= MPI_ERR_BUFFER) call complain('the refusal of a long count')
    call MPI_Isend(x(2, :), 2, MPI_2INTEGER, rank, 0, MPI_COMM_WORLD, requests(1), error)
    call MPI_Error_class(error, class)
    if (class /= MPI_ERR_BUFFER) call complain('the refusal of a large element')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine check_bottom()
    integer, asynchronous :: x(2), y(2)
    integer(kind=MPI_ADDRESS_KIND) :: places(1)
    type(MPI_Datatype) :: absolute
    x = [5, 6]
    y = 0
    call MPI_Get_address(x, places(1))
    call MPI_Type_create_hindexed(1, [2], places, MPI_INTEGER, absolute)
    call MPI_Type_commit(absolute)
    call MPI_Sendrecv(MPI_BOTTOM, 1, absolute, rank, 3, y, 2, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, status)
    call MPI_F_sync_reg(x)
    if (any(y /= x)) call complain('MPI_BOTTOM')
    call MPI_Type_free(absolute)
  end subroutine
end program
