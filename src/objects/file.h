// Open files (MPI 5.0 chapter 14): the objects of their handles. src/io implements the operations.
#pragma once

#include "objects/errhandler.h"
#include "objects/info.h"
#include "objects/object.h"

namespace hearth::io {
class OpenFile;
}

namespace hearth::objects {

struct Comm;

struct File : Object {
  /// Internal communicator of the processes that opened the file; one reference held. Its `of_file` is this
  /// object, so that errors of requests reach the file's error handler.
  Comm* comm = nullptr;
  io::OpenFile* open = nullptr;
  Errhandler* errhandler = nullptr;  // one reference held
  Info* info = nullptr;              // hints in force; nullptr if none was given
};

}  // namespace hearth::objects
