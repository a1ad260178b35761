! Results of calls that return an error: indices begin with 1 after MPI_ERR_IN_STATUS too, and a blank command
! of MPI_Comm_spawn_multiple is an empty one.
program failures
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
  type(MPI_Comm) :: children
  type(MPI_Info) :: infos(2)
  character(len=20) :: commands(2)
  character(len=MPI_MAX_ERROR_STRING) :: text
  integer, asynchronous :: sent(4), pending(1), short(1)
  integer :: indices(2), count, class, error, length, attempt
  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)

  sent = 7
  call MPI_Irecv(pending, 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF, requests(1))
  do attempt = 1, 2
    call MPI_Irecv(short, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(2))
    call MPI_Send(sent, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
    count = 0
    if (attempt == 1) call MPI_Waitsome(2, requests, count, indices, statuses, error)
    do while (attempt == 2 .and. count == 0)
      call MPI_Testsome(2, requests, count, indices, statuses, error)
    end do
    call MPI_Error_class(error, class)
    if (class /= MPI_ERR_IN_STATUS .or. count /= 1) error stop 1
    if (indices(1) /= 2 .or. requests(2) /= MPI_REQUEST_NULL) error stop 2
    call MPI_Error_class(statuses(1)%MPI_ERROR, class)
    if (class /= MPI_ERR_TRUNCATE) error stop 3
  end do
  call MPI_Cancel(requests(1))
  call MPI_Wait(requests(1), status)

  commands = ['/nowhere/to/be/found', '                    ']
  infos = MPI_INFO_NULL
  call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [1, 1], infos, 0, MPI_COMM_SELF, children, &
                               MPI_ERRCODES_IGNORE, error)
  call MPI_Error_class(error, class)
  call MPI_Error_string(error, text, length)
  if (class /= MPI_ERR_ARG .or. index(text, 'command is empty') == 0) error stop 4
  call MPI_Finalize()
end program
