! Strings: without trailing blanks in C, padded with blanks in Fortran, longer or shorter than needed.
program strings
  use mpi_f08
  implicit none
  character(len=10) :: short
  character(len=1100) :: long
  character(len=3) :: tiny
  integer :: n, length, error, major, minor, i
  type(MPI_Info) :: info
  type(MPI_Session) :: session
  type(MPI_Datatype) :: datatype
  type(MPI_Comm) :: comm
  logical :: flag
  call MPI_Init()
  call MPI_Type_dup(MPI_INTEGER, datatype)
  call MPI_Type_set_name(datatype, 'a name   ')
  short = repeat('x', 10)
  call MPI_Type_get_name(datatype, short, n)
  if (short /= 'a name' .or. n /= 6 .or. short(7:) /= '    ') error stop 1
  call MPI_Type_get_name(datatype, tiny, n)
  if (tiny /= 'a n' .or. n /= 6) error stop 2
  call MPI_Type_free(datatype)

  call MPI_Info_create(info)
  call MPI_Info_set(info, '  key  ', '  a value  ')
  call MPI_Info_get_valuelen(info, 'key', n, flag)
  if (.not. flag .or. n /= 7) error stop 3
  call MPI_Info_get(info, ' key', 10, short, flag)
  if (.not. flag .or. short /= 'a value') error stop 4
  length = len(short)
  call MPI_Info_get_string(info, 'key ', length, short, flag)
  if (.not. flag .or. length /= 7 .or. short /= 'a value') error stop 5
  length = 3
  short = repeat('x', 10)
  call MPI_Info_get_string(info, 'key', length, short, flag)
  if (.not. flag .or. length /= 7 .or. short /= 'a v') error stop 6
  length = 0
  short = 'unchanged'
  call MPI_Info_get_string(info, 'key', length, short, flag)
  if (.not. flag .or. length /= 7 .or. short /= 'unchanged') error stop 7
  call MPI_Info_get_string(info, 'none', length, short, flag)
  if (flag .or. short /= 'unchanged') error stop 8
  call MPI_Info_get_nthkey(info, 0, long)
  if (long /= 'key') error stop 9
  ! A value of the greatest length.
  long = repeat('v', MPI_MAX_INFO_VAL)
  call MPI_Info_set(info, 'long', long)
  call MPI_Info_get_valuelen(info, 'long', n, flag)
  if (n /= MPI_MAX_INFO_VAL) error stop 10
  call MPI_Info_get(info, 'long', n, long, flag)
  if (len_trim(long) /= n .or. verify(trim(long), 'v') /= 0) error stop 11
  call MPI_Info_free(info)
  if (info /= MPI_INFO_NULL) error stop 12

  call MPI_Error_string(MPI_ERR_COMM, long, n)
  if (n == 0 .or. len_trim(long) /= n) error stop 13
  call MPI_Get_library_version(long, n)
  if (n == 0 .or. len_trim(long(1:min(n, len(long)))) == 0) error stop 14
  call MPI_Get_processor_name(long, n)
  if (len_trim(long) /= n) error stop 15
  call MPI_Get_version(major, minor)
  if (major /= MPI_VERSION .or. minor /= MPI_SUBVERSION) error stop 16

  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n)
  do i = 0, n - 1
    length = 0
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, long)
    long = repeat('x', len(long))
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, long)
    if (len_trim(long) /= length .or. long(1:6) /= 'mpi://' .and. i < 2) error stop 17
  end do
  call MPI_Session_finalize(session)

  ! Descriptors of CHARACTERs beside those of buffers.
  block
    integer :: packed(4), numbers(2)
    integer(kind=MPI_ADDRESS_KIND) :: position, bytes
    call MPI_Pack_external_size('external32  ', 2, MPI_INTEGER, bytes)
    position = 0
    call MPI_Pack_external('external32  ', [1, 2], 2, MPI_INTEGER, packed, bytes, position)
    if (position /= 8) error stop 18
    position = 0
    call MPI_Unpack_external('external32', packed, bytes, position, numbers, 2, MPI_INTEGER)
    if (any(numbers /= [1, 2])) error stop 19
  end block

  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Comm_set_name(comm, repeat(' ', 300))
  call MPI_Comm_get_name(comm, short, n)
  if (n /= 0 .or. short /= ' ') error stop 20
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  call MPI_Comm_set_name(comm, repeat('y', 600), error)
  call MPI_Comm_free(comm)
  print '(a)', 'strings'
  call MPI_Finalize()
end program
