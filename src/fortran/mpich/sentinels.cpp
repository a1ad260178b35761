#include "fortran/sentinels.h"

extern "C" {
HearthMpichPrivate1 mpipriv1_;
HearthMpichPrivate2 mpipriv2_;
HearthMpichCharacters mpiprivc_;
int mpifcmb5_;
int mpifcmb9_;
}

namespace hearth::fortran {
namespace {

/// Functions of C that take a status of Fortran compare it with these addresses.
[[gnu::constructor]] void publish_addresses() {
  MPI_F_STATUS_IGNORE = mpipriv1_.status_ignore;
  MPI_F_STATUSES_IGNORE = mpipriv2_.statuses_ignore;
}

}  // namespace
}  // namespace hearth::fortran
