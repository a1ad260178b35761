! A program for another MPI: built with its module mpi and started on Hearth by test_facades.py. Sentinels, statuses,
! LOGICALs, indices, strings, attributes, callbacks, removed routines.
module procedures
  use mpi
  implicit none
  integer :: reported = 0
contains
  subroutine add(in, inout, length, datatype)
    integer, intent(in) :: length, datatype
    integer :: in(length), inout(length)
    if (datatype /= MPI_INTEGER) error stop 90
    inout = inout + in
  end subroutine
  subroutine report(comm, code)
    integer :: comm, code
    integer :: class, ierror
    call MPI_Error_class(code, class, ierror)
    if (comm /= MPI_COMM_WORLD) error stop 91
    reported = class
  end subroutine
  subroutine copy(comm, keyval, extra_state, value, value_copy, flag, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, value, value_copy
    logical :: flag
    value_copy = value + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
end module

program for_another_mpi
  use mpi
  use procedures
  implicit none
  integer :: ierror, rank, size, n, i, position, key, comm, op, handler, info, datatype, file, window
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2), indices(2)
  integer :: sent(4), got(4), lengths(2), displacements(2), types(2), sources(1), degrees(1), targets(1)
  integer(kind=MPI_ADDRESS_KIND) :: value, address, lower, extent, bytes
  integer(kind=MPI_OFFSET_KIND) :: offset
  logical :: flag, periods(1), reorder
  character(len=20) :: text
  character(len=MPI_MAX_PROCESSOR_NAME) :: long
  double precision :: began
  common /shared/ got

  if (MPI_STATUS_SIZE /= 5 .and. MPI_STATUS_SIZE /= 6) error stop 1
  call MPI_Init(ierror)
  began = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)

  ! Messages: statuses, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, MPI_BOTTOM, indices.
  sent = rank
  call MPI_Sendrecv(sent, 4, MPI_INTEGER, modulo(rank + 1, size), 7, got, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, &
                    MPI_COMM_WORLD, status, ierror)
  if (status(MPI_SOURCE) /= modulo(rank - 1, size) .or. status(MPI_TAG) /= 7) error stop 2
  call MPI_Get_count(status, MPI_INTEGER, n, ierror)
  if (n /= 4 .or. got(3) /= status(MPI_SOURCE)) error stop 3
  call MPI_Sendrecv(sent, 4, MPI_INTEGER, rank, 1, got, 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call MPI_Irecv(got, 2, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(sent, 2, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  if (any(requests /= MPI_REQUEST_NULL)) error stop 4
  requests(1) = MPI_REQUEST_NULL
  call MPI_Isend(sent, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitany(2, requests, i, status, ierror)
  if (i /= 2) error stop 5
  call MPI_Waitany(2, requests, i, status, ierror)
  if (i /= MPI_UNDEFINED) error stop 6
  call MPI_Isend(sent, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitsome(2, requests, n, indices, statuses, ierror)
  if (n /= 1 .or. indices(1) /= 2) error stop 7
  ! After an error too.
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
  call MPI_Irecv(got, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(2), ierror)
  call MPI_Send(sent, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierror)
  call MPI_Waitsome(2, requests, n, indices, statuses, ierror)
  call MPI_Error_class(ierror, i, ierror)
  if (i /= MPI_ERR_IN_STATUS .or. n /= 1 .or. indices(1) /= 2) error stop 7
  call MPI_Get_address(got, address, ierror)
  call MPI_Type_create_hindexed(1, [4], [address], MPI_INTEGER, datatype, ierror)
  call MPI_Type_commit(datatype, ierror)
  got = -1
  call MPI_Sendrecv([5, 6, 7, 8], 4, MPI_INTEGER, rank, 2, MPI_BOTTOM, 1, datatype, rank, 2, MPI_COMM_WORLD, status, ierror)
  if (any(got /= [5, 6, 7, 8])) error stop 8
  call MPI_Type_free(datatype, ierror)
  if (datatype /= MPI_DATATYPE_NULL) error stop 9

  ! Collectives: MPI_IN_PLACE, an operation in Fortran.
  got = rank
  call MPI_Allreduce(MPI_IN_PLACE, got, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (any(got /= size * (size - 1) / 2)) error stop 10
  call MPI_Op_create(add, .true., op, ierror)
  call MPI_Allreduce(sent, got, 4, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  if (any(got /= size * (size - 1) / 2)) error stop 11
  call MPI_Op_free(op, ierror)

  ! Topologies: LOGICALs, MPI_UNWEIGHTED.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., comm, ierror)
  call MPI_Cart_get(comm, 1, indices, periods, targets, ierror)
  if (.not. periods(1) .or. targets(1) /= rank) error stop 12
  call MPI_Comm_free(comm, ierror)
  sources = modulo(rank - 1, size)
  targets = modulo(rank + 1, size)
  reorder = .false.
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, reorder, comm, ierror)
  call MPI_Dist_graph_neighbors_count(comm, i, n, flag, ierror)
  if (i /= 1 .or. n /= 1 .or. flag) error stop 13
  call MPI_Comm_set_name(comm, 'a name  ', ierror)
  call MPI_Comm_get_name(comm, text, n, ierror)
  if (text /= 'a name' .or. n /= 6) error stop 14

  ! Attributes.
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
  if (.not. flag .or. value < 32767) error stop 15
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, n, flag, ierror)
  if (.not. flag .or. n /= value) error stop 16
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, value, flag, ierror)
  if (.not. flag .or. value <= 0) error stop 17
  value = 1000
  call MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, key, value, ierror)
  value = 5000000000_MPI_ADDRESS_KIND
  call MPI_Comm_set_attr(comm, key, value, ierror)
  call MPI_Comm_dup(comm, n, ierror)
  call MPI_Comm_get_attr(n, key, value, flag, ierror)
  if (.not. flag .or. value /= 5000001000_MPI_ADDRESS_KIND) error stop 18
  call MPI_Comm_free(n, ierror)
  call MPI_Comm_free_keyval(key, ierror)
  if (key /= MPI_KEYVAL_INVALID) error stop 19
  call MPI_Comm_free(comm, ierror)

  ! Errors.
  call MPI_Comm_create_errhandler(report, handler, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
  call MPI_Send(sent, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, ierror)
  if (reported /= MPI_ERR_RANK) error stop 20
  n = ierror
  call MPI_Error_class(n, i, ierror)
  if (i /= MPI_ERR_RANK) error stop 21
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
  call MPI_Errhandler_free(handler, ierror)

  ! Strings.
  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, ' key ', 'value', ierror)
  call MPI_Info_get(info, 'key', 20, text, flag, ierror)
  if (.not. flag .or. text /= 'value') error stop 22
  call MPI_Info_free(info, ierror)
  call MPI_Get_processor_name(long, n, ierror)
  if (n == 0 .or. len_trim(long) /= n) error stop 23

  ! Packing, a window, a file.
  position = 0
  call MPI_Pack(sent, 2, MPI_INTEGER, got, 16, position, MPI_COMM_WORLD, ierror)
  if (position /= 8) error stop 24
  got = -1
  bytes = 16
  call MPI_Win_create(got, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierror)
  call MPI_Win_get_attr(window, MPI_WIN_SIZE, value, flag, ierror)
  if (.not. flag .or. value /= 16) error stop 25
  call MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, value, flag, ierror)
  if (.not. flag .or. value /= MPI_WIN_FLAVOR_CREATE) error stop 26
  call MPI_Win_fence(0, window, ierror)
  value = 1
  call MPI_Put(sent, 1, MPI_INTEGER, modulo(rank + 1, size), value, 1, MPI_INTEGER, window, ierror)
  call MPI_Win_fence(0, window, ierror)
  if (got(2) /= modulo(rank - 1, size) .or. got(1) /= -1) error stop 27
  call MPI_Win_free(window, ierror)
  call MPI_File_open(MPI_COMM_WORLD, 'facade_file  ', MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                     MPI_INFO_NULL, file, ierror)
  offset = 16 * rank
  call MPI_File_write_at(file, offset, sent, 4, MPI_INTEGER, status, ierror)
  call MPI_Get_count(status, MPI_INTEGER, n, ierror)
  if (ierror /= MPI_SUCCESS .or. n /= 4) error stop 28
  got = -1
  call MPI_File_read_at(file, offset, got, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  if (any(got /= rank)) error stop 29
  call MPI_File_close(file, ierror)
  if (file /= MPI_FILE_NULL) error stop 30

  ! Routines that MPI 3.0 removed.
  lengths = [1, 2]
  displacements = [0, 8]
  types = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
  call MPI_Type_struct(2, lengths, displacements, types, datatype, ierror)
  call MPI_Type_extent(datatype, n, ierror)
  if (n /= 24) error stop 31
  call MPI_Type_get_extent(datatype, lower, extent, ierror)
  if (lower /= 0 .or. extent /= 24) error stop 32
  call MPI_Type_free(datatype, ierror)
  call MPI_Sizeof(began, n, ierror)
  if (n /= 8) error stop 33

  if (MPI_Wtime() < began) error stop 34
  print '(a,i0)', 'hello ', rank
  call MPI_Finalize(ierror)
end program
