C Computes pi by the midpoint rule, in Fortran 77.
C mpif77 pi.f -o pi; mpiexec -n 4 ./pi
      PROGRAM PI
      INCLUDE 'mpif.h'
      INTEGER STEPS
      PARAMETER (STEPS = 1000000)
      INTEGER IERROR, RANK, SIZE, I
      DOUBLE PRECISION X, PART, TOTAL, START
      CALL MPI_INIT(IERROR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERROR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, SIZE, IERROR)
      START = MPI_WTIME()
      PART = 0
      DO 10 I = RANK + 1, STEPS, SIZE
        X = (I - 0.5D0) / STEPS
        PART = PART + 4 / (1 + X * X) / STEPS
   10 CONTINUE
      CALL MPI_REDUCE(PART, TOTAL, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0,
     &                MPI_COMM_WORLD, IERROR)
      IF (RANK .EQ. 0) THEN
        PRINT '(A, F10.8, A, I0, A)', 'pi is about ', TOTAL, ' by ',
     &        SIZE, ' ranks'
        IF (MPI_WTIME() .LT. START) STOP 1
      END IF
      CALL MPI_FINALIZE(IERROR)
      END
