#include "fortran/sentinels.h"

// No correct program reads the values; they make a missing conversion visible. Vectorised programs may expect
// large alignments of COMMON blocks.
#define HEARTH_CELL alignas(64)

extern "C" {
HEARTH_CELL const int mpi_fortran_bottom_ = -0x5eed;
HEARTH_CELL const int mpi_fortran_in_place_ = -0x5eed;
HEARTH_CELL const int mpi_fortran_buffer_automatic_ = -0x5eed;
HEARTH_CELL const int mpi_fortran_status_ignore_[MPI_F_STATUS_SIZE] = {-0x5eed};
HEARTH_CELL const int mpi_fortran_statuses_ignore_[MPI_F_STATUS_SIZE] = {-0x5eed};
HEARTH_CELL const int mpi_fortran_errcodes_ignore_ = -0x5eed;
HEARTH_CELL const int mpi_fortran_unweighted_ = -0x5eed;
HEARTH_CELL const int mpi_fortran_weights_empty_ = -0x5eed;
HEARTH_CELL const char mpi_fortran_argv_null_ = ' ';
HEARTH_CELL const char mpi_fortran_argvs_null_ = ' ';
}
