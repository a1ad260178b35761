// A message removed from the unexpected queue by MPI_Mprobe or MPI_Improbe (MPI 5.0 section 3.8.2).
#pragma once

#include "objects/comm.h"
#include "objects/object.h"
#include "p2p/unexpected_message.h"

namespace hearth::p2p {

struct Message : objects::Object {
  UnexpectedMessage* message = nullptr;  // nullptr for MPI_MESSAGE_NO_PROC
  objects::Comm* comm = nullptr;         // one reference held
};

}  // namespace hearth::p2p
