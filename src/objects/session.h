// MPI sessions (MPI 5.0 section 11.3), by which a part of a program uses MPI independently of other parts.
//
// All sessions give access to the same processes, those of the job. The object stores only what the user has
// set.
#pragma once

#include "objects/errhandler.h"
#include "objects/object.h"

namespace hearth::objects {

struct Session : Object {
  Errhandler* errhandler = nullptr;  // one reference held
  int thread_level = 0;              // MPI_THREAD_*: the level provided
};

}  // namespace hearth::objects
