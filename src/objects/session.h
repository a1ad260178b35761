// MPI sessions (MPI 5.0 section 11.3): each a separate way into MPI for one part of a program.
//
// What a session gives access to, the processes of the job, is the same for all; an object remembers only
// what its user asked for.
#pragma once

#include "objects/errhandler.h"
#include "objects/object.h"

namespace hearth::objects {

struct Session : Object {
  Errhandler* errhandler = nullptr;  // one reference held
  int thread_level = 0;              // MPI_THREAD_*: what it was given
};

}  // namespace hearth::objects
